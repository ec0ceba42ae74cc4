import { createApp } from "vue";
import { createRouter, createWebHistory } from "vue-router";
import App from "./App.vue";
import List from "./List.vue";

const routes = [
  { path: "/", component: List },
  { path: "/record/:id", component: () => import("./Record.vue"), props: true },
];
createApp(App).use(createRouter({ history: createWebHistory(), routes })).mount("#app");
