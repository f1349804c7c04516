/** Stands in for Capstan as a process of its own: says what it was given, that it works, and ends with the node. */
import { readFileSync } from "node:fs";

const words = process.argv.slice(2);
const mounts = words.filter((word) => word.startsWith("--mount=")).map((word) => word.slice(8).split("="));
const args = words.slice(mounts.length);
const real = (path) => {
  const [at, to] = mounts.find(([mount]) => path.startsWith(`${mount}/`)) ?? ["", ""];
  return `${to}${path.slice(at.length)}`;
};

console.log(`pid ${process.pid}`);
console.log(`args ${args.join(" ")}`);
console.log(`colour ${process.env.COLOUR}, secret of the node ${process.env.OF_THE_NODE}`);
console.error(`namespace ${readFileSync(real("/var/run/secrets/kubernetes.io/serviceaccount/namespace"), "utf8")}`);
process.on("disconnect", () => process.exit(1));
if (args[0] === "stubborn") process.on("SIGTERM", () => console.log("not yet"));
if (args[0] === "crash") process.exit(4);
process.send({ ready: true });
setInterval(() => {}, 1_000_000);
