import { useEffect, useState } from "react";
import { Link, useSearchParams } from "react-router";

// A page of the list at a time; the next one has an address.
export function List() {
  const [search] = useSearchParams();
  const page = Number(search.get("page") ?? 1);
  const [found, setFound] = useState({ records: [], more: false });
  useEffect(() => {
    fetch(`/api/records?page=${page}`).then((answer) => answer.json()).then(setFound);
  }, [page]);
  return (
    <main>
      <h1>Records, page {page}</h1>
      <ul>{found.records.map(({ id, name }) => <li key={id}><Link to={`/record/${id}`}>{name}</Link></li>)}</ul>
      {found.more && <Link to={`/?page=${page + 1}`}>Next page</Link>}
    </main>
  );
}
