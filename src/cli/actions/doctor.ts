/** Shows what is wrong with a cluster for `capstan doctor`. */
import { type Diagnosis, diagnose, type Finding } from "#app";
import { createClient } from "#kube";
import type { DoctorFlags } from "../commands/doctor.ts";
import { targetOf } from "../target.ts";
import { colours, print, say } from "../terminal.ts";

export async function runDoctor(flags: DoctorFlags): Promise<void> {
  const connection = await targetOf(flags);
  const client = createClient({ connection });
  try {
    const diagnosis = await diagnose(client, connection, new Date());
    if (flags.output === "json") print(JSON.stringify(diagnosis, undefined, 2));
    else for (const finding of diagnosis.findings) print(line(finding));
    say(summary(diagnosis));
    if (diagnosis.findings.some(({ level }) => level === "broken")) process.exitCode = 1;
  } finally {
    client.close();
  }
}

const SIGNS = { ok: "✓", warning: "!", broken: "✗" } as const;

function line({ level, about, message, mend }: Finding): string {
  const colour = { ok: colours.green, warning: colours.yellow, broken: colours.red }[level];
  const next = mend === undefined ? "" : `\n    ${colours.dim("→")} ${mend}`;
  return `${colour(SIGNS[level])} ${about}: ${message}${next}`;
}

function summary({ server, isHub, isSpoke, findings }: Diagnosis): string {
  const count = (level: Finding["level"]) => findings.filter((finding) => finding.level === level).length;
  const what = isHub && isSpoke ? "hub and spoke" : isHub ? "hub" : isSpoke ? "spoke" : "cluster";
  const [bad, odd] = [count("broken"), count("warning")];
  const verdict = bad > 0 ? `${bad} broken` : "nothing is broken";
  return `${what} ${server}: ${verdict}${odd > 0 ? `, ${odd} to look at` : ""}.`;
}
