/** What programs in Pods write, in files too: whoever looks for why something failed looks there when nothing runs any more. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { RunProgram } from "#features/node";

/** The name of a Pod of a Deployment: that of the Deployment, of its template, and its own. */
const OF_DEPLOYMENT = /^(.+)-[a-z0-9]{8,10}-[a-z0-9]{5}$/;

/** Appends what a program writes to `FOLDER/CLUSTER.DEPLOYMENT.log` as well. */
export function loggingTo(folder: string, cluster: string, run: RunProgram): RunProgram {
  return (context) => {
    const pod = context.env.HOSTNAME ?? "program";
    const file = join(folder, `${cluster}.${OF_DEPLOYMENT.exec(pod)?.[1] ?? pod}.log`);
    const write = (line: string) => {
      context.write(line);
      appendFileSync(file, `${line}\n`, { mode: 0o600 });
    };
    return run({ ...context, write });
  };
}
