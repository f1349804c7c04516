/**
 * Writes the table of what the conformance suite covers into src/apiserver/README.md, from the ids that the names of
 * its cases open with (`area.behaviour: sentence`). With --check it writes nothing and fails when the table is not
 * current. A case with many rows counts once.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const AREAS = {
  http: "paths, methods, media types, health pages, version, an id on every answer",
  crud: "create, read, list and replace objects; errors as a Status with reason, code and causes",
  protobuf: "bodies in protobuf for built-in kinds",
  discovery: "groups, versions and resources, one document per group version",
  "aggregated-discovery": "all resources in one document, with an ETag",
  openapi: "OpenAPI v3 with what kubectl looks for",
  "openapi-v2": "OpenAPI v2, also in protobuf, with the kinds of definitions",
  metrics: "requests by verb, resource, scope and code; open watches",
  audit: "who did what to which object, and how it ended; no bodies",
  table: "rows and columns for people, in lists and watches",
  metadata: "objects without anything but metadata, in lists and watches",
  selectors: "label and field selectors",
  paging: "`limit` and `continue`, at the revision of the first page",
  revisions: "`resourceVersion` and `resourceVersionMatch`, past and future",
  watch: "changes in order, resumable, selected, ended in time",
  "watch-list": "initial events and the bookmark after them",
  concurrency: "resourceVersion as a precondition, generateName, generation",
  subresources: "`/status`, `/scale` and `/binding`: what each of them changes, and who may",
  patch: "JSON patch and merge patch",
  "strategic-patch": "strategic merge patch with directives",
  apply: "server-side apply and the owners of fields",
  "dry-run": "writes that leave no trace",
  "field-validation": "unknown and repeated fields refused, reported or forgiven",
  delete: "options, preconditions, finalizers, grace periods",
  "delete-collection": "many objects at once, by selector, with options and rights of its own",
  crd: "CustomResourceDefinitions: schemas, pruning, defaults, versions, columns, selectable fields",
  "cel-rules": "`x-kubernetes-validations`: create, transition, ratcheting, messages, paths, reasons, costs",
  "admission-webhooks":
    "whom a write is shown to, what they may change, deny, warn of and fail at; their configurations",
  "conversion-webhooks":
    "versions of custom kinds that somebody else converts: read, written, listed, watched, applied",
  namespace: "the life of a namespace and of its content",
  "garbage-collection": "owners and dependents: background, foreground, orphans, circles, absent owners",
  expiry: "finished Jobs, bootstrap tokens, tokens of service accounts, Pods without a node",
  authentication: "client certificates, service-account tokens and their reviews",
  authorization: "RBAC, access reviews, no escalation, default roles",
  impersonation: "acting as somebody else",
  signing: "CertificateSigningRequests approved and signed",
  kinds: "rules of single kinds: ConfigMap, Secret, Deployment, Service, Lease, Event",
  deployments: "rollouts with their limits, pauses, rollbacks, deadlines, history and conditions",
  replicasets: "as many Pods as wished for: created, adopted, replaced, deleted in order, counted",
  replicationcontrollers: "the same for ReplicationControllers",
  statefulsets: "Pods in order, with a name and claims of their own; rolling updates, revisions",
  daemonsets: "a Pod for every node that fits; rolling updates, surge, revisions",
  jobs: "Pods that run to an end, counted once; indexes, policies, deadlines, suspension",
  cronjobs: "Jobs on a schedule: time zones, missed starts, concurrency, history",
  nodes: "Pods on nodes that run them: bound, ready, restarted, ended, and their logs",
  services: "addresses, node ports and families given and kept, changes of type, ranges and IPAddresses, refusals",
  endpoints: "what stands behind Services, in subsets",
  endpointslices: "the same in slices, with conditions, zones, hints and a limit of size; Endpoints mirrored",
  disruption: "PodDisruptionBudgets counted, and evictions that ask them",
  limits: "hostile or broken input refused, without harm to others",
};

const BEGIN = "<!-- conformance: begin -->";
const END = "<!-- conformance: end -->";

const root = fileURLToPath(new URL("..", import.meta.url));
const suite = join(root, "test/conformance");
const readme = join(root, "src/apiserver/README.md");

const { ids, complaints } = casesOf(suite);
const text = readFileSync(readme, "utf8");
const current = withTable(text, tableOf(ids));
if (complaints.length === 0 && process.argv.includes("--check") && current !== text) {
  complaints.push("src/apiserver/README.md: the table is not current; run `npm run docs:conformance`");
}

if (complaints.length > 0) {
  console.error(complaints.join("\n"));
  process.exitCode = 1;
} else if (current !== text) {
  writeFileSync(readme, current);
}

/** The ids in the suite's files, and what is wrong with them. */
function casesOf(folder) {
  const found = new Map();
  const wrong = [];
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".ts"))) {
    const source = readFileSync(join(folder, file), "utf8");
    const named = [...source.matchAll(/["`]([a-z][a-z0-9-]*)\.([a-z][a-z0-9-]*): /g)];
    const cases = source.match(/\bit(\.\w+)*[(<]/g)?.length ?? 0;
    if (cases !== named.length) {
      wrong.push(`test/conformance/${file}: ${cases} cases, ${named.length} of them with an id (\`area.behaviour: \`)`);
    }
    for (const [, area, behaviour] of named) {
      const id = `${area}.${behaviour}`;
      if (found.has(id)) wrong.push(`test/conformance/${file}: ${id} is also a case of ${found.get(id)}`);
      if (!Object.hasOwn(AREAS, area)) {
        wrong.push(`test/conformance/${file}: say what the area of ${id} means, in tools/conformance-table.mjs`);
      }
      found.set(id, file);
    }
  }
  const areas = new Set([...found.keys()].map((id) => id.split(".")[0]));
  for (const area of Object.keys(AREAS)) {
    if (!areas.has(area)) wrong.push(`tools/conformance-table.mjs: the area ${area} has no cases`);
  }
  return { ids: [...found.keys()], complaints: wrong };
}

function tableOf(found) {
  const rows = Object.entries(AREAS).map(([area, meaning]) => {
    const count = found.filter((id) => id.startsWith(`${area}.`)).length;
    return [`\`${area}\``, String(count), meaning];
  });
  const head = ["area", "cases", "what it is about"];
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = ([area, count, meaning]) =>
    `| ${area.padEnd(widths[0])} | ${count.padStart(widths[1])} | ${meaning.padEnd(widths[2])} |`;
  const rule = `| ${"-".repeat(widths[0])} | ${"-".repeat(widths[1] - 1)}: | ${"-".repeat(widths[2])} |`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

function withTable(document, table) {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`src/apiserver/README.md has no ${BEGIN} … ${END}`);
  return `${document.slice(0, begin)}${BEGIN}\n\n${table}\n\n${document.slice(end)}`;
}
