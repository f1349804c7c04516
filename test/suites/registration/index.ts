/** Registration on any two API servers: how clusters join, and what a hub does for and about them. */
export { hubSuite } from "./hub.ts";
export { registrationSuite } from "./joining.ts";
