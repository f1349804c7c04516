/** Work: how objects travel from the hub to a spoke. So far there is the agent, which serves them on the spoke. */
export { runWorkAgent } from "./agent/index.ts";
