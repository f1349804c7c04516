/** The hub's half of work: what becomes of works that are finished. */
export { finishedWorksController } from "./finished-works.controller.ts";
