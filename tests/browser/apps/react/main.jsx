import { lazy, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter, Link, Route, Routes } from "react-router";
import { List } from "./list.jsx";

const Record = lazy(() => import("./record.jsx"));

createRoot(document.getElementById("root")).render(
  <BrowserRouter>
    <nav><Link to="/">All records</Link></nav>
    <Suspense fallback={<p>Loading</p>}>
      <Routes>
        <Route path="/" element={<List />} />
        <Route path="/record/:id" element={<Record />} />
      </Routes>
    </Suspense>
  </BrowserRouter>,
);
