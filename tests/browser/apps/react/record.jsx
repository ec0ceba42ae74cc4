import { useEffect, useState } from "react";
import { Link, useParams } from "react-router";

export default function Record() {
  const { id } = useParams();
  const [record, setRecord] = useState(null);
  useEffect(() => {
    fetch(`/api/record/${id}`).then((answer) => answer.json()).then(setRecord);
  }, [id]);
  if (!record) return <p>Loading</p>;
  return (
    <article>
      <title>{record.name}</title>
      <h1>{record.name}</h1>
      <p>{record.text}</p>
      {record.related.map((other) => <Link key={other} to={`/record/${other}`}>Record {other}</Link>)}
    </article>
  );
}
