/** Whether a ManifestWork may be as somebody wishes it: what it carries, and in whose name that is applied. */
import type { AdmissionRequest } from "#api/admission";
import type { DynamicObject } from "#api/meta";
import { WORK_GROUP } from "#api/work";
import { equal, isObject, stringifyJson } from "#lib/json";
import { isDeleting } from "#lib/meta";
import { badObject, type NeededRight, type Refusal } from "#runtime";

type Request = Pick<AdmissionRequest, "operation" | "object" | "oldObject" | "userInfo" | "namespace">;

/** As much as fits into an object of a hub with what is told of it: upstream's limit. */
export const MANIFEST_LIMIT = 500 * 1024;

/** What is wrong with the manifests, whoever asks. */
export function workFlaw({ object, oldObject }: Request, limit: number): Refusal | undefined {
  // One that goes, or whose manifests are as they were, must not be held up by what was let in before.
  if (!object || isDeleting(object)) return undefined;
  const manifests = manifestsOf(object);
  if (oldObject && equal(manifests, manifestsOf(oldObject))) return undefined;
  if (manifests.length === 0) return badObject("manifests should not be empty");
  const size = manifests.reduce<number>((sum, manifest) => sum + sizeOf(manifest), 0);
  if (size > limit) {
    return badObject(
      `the size of manifests is ${size} bytes which exceeds the ${limit} limit; divide them among several ManifestWorks`,
    );
  }
  return nameFlaw(manifests);
}

function manifestsOf(work: DynamicObject): readonly unknown[] {
  const workload = isObject(work.spec) ? work.spec.workload : undefined;
  const manifests = isObject(workload) ? workload.manifests : undefined;
  return Array.isArray(manifests) ? manifests : [];
}

/** As protobuf would frame it: a tag, the length, and the JSON itself. */
export function sizeOf(manifest: unknown): number {
  const bytes = Buffer.byteLength(stringifyJson(manifest));
  let lengthBytes = 1;
  for (let rest = bytes; rest >= 128; rest = Math.floor(rest / 128)) lengthBytes++;
  return 1 + lengthBytes + bytes;
}

function nameFlaw(manifests: readonly unknown[]): Refusal | undefined {
  const seen = new Set<string>();
  for (const [index, manifest] of manifests.entries()) {
    const text = (value: unknown) => (typeof value === "string" ? value : "");
    const { apiVersion, kind, metadata } = isObject(manifest) ? manifest : {};
    const { name, namespace, generateName } = isObject(metadata) ? metadata : {};
    if (text(name) === "") return badObject(`name must be set in manifest ${index}`);
    if (text(generateName) !== "") return badObject(`generateName must not be set in manifest ${index}`);
    const type = `${text(apiVersion)}.${text(kind)}`;
    const key = JSON.stringify([type, text(namespace), text(name)]);
    if (seen.has(key)) {
      const place = `${text(namespace)}/${text(name)}`;
      return badObject(`duplicate manifest for resource ${place} with resource type ${type}`);
    }
    seen.add(key);
  }
  return undefined;
}

/** In whose name a work is applied that does not say: the agent's own, wherever it is installed. */
const AGENT = { namespace: "", name: "klusterlet-work-sa" };

/**
 * To act in somebody's name one needs the right to, whoever named them first: a work is as much what it carries as who
 * applies it. A work that names nobody acts in the name of the agent, which may do everything: `nilExecutor` says whether
 * that needs a right too.
 */
export function executorRights(request: Request, nilExecutor: boolean): NeededRight[] {
  const { object, oldObject, operation, userInfo } = request;
  if (!object || isDeleting(object)) return [];
  if (operation !== "CREATE" && oldObject && equal(object.spec ?? null, oldObject.spec ?? null)) return [];
  const executor = executorOf(object);
  const account = executor ?? (nilExecutor ? AGENT : undefined);
  if (!account) return [];
  const namespace = request.namespace ?? object.metadata.namespace ?? "";
  const name = `system:serviceaccount:${account.namespace}:${account.name}`;
  const needed = {
    right: { group: WORK_GROUP, resource: "manifestworks", verb: "execute-as", namespace, name },
    refusal: badObject(
      `user ${userInfo.username} cannot manipulate the Manifestwork with executor ${account.namespace}/${account.name} in namespace ${namespace}`,
    ),
  };
  return [needed];
}

interface Account {
  readonly namespace: string;
  readonly name: string;
}

function executorOf(work: DynamicObject): Account | undefined {
  const executor = isObject(work.spec) ? work.spec.executor : undefined;
  const subject = isObject(executor) ? executor.subject : undefined;
  const account = isObject(subject) ? subject.serviceAccount : undefined;
  if (!isObject(account)) return undefined;
  return { namespace: String(account.namespace ?? ""), name: String(account.name ?? "") };
}
