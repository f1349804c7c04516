/** What the name of an image tells about it; nothing is ever pulled. */
import { createHash } from "node:crypto";

/** Parts of a name that stand for an image that nobody has. */
const MISSING: ReadonlySet<string> = new Set(["non-existent", "invalid"]);
const MISSING_TAG = "404";

interface Parts {
  /** `registry.example/team`, `app` … without the registry's port. */
  readonly path: readonly string[];
  readonly tag: string;
}

function partsOf(image: string): Parts {
  const [name = ""] = image.split("@");
  const slash = name.lastIndexOf("/");
  const colon = name.lastIndexOf(":");
  const hasTag = colon > slash;
  return {
    path: (hasTag ? name.slice(0, colon) : name).split("/"),
    tag: hasTag ? name.slice(colon + 1) : "latest",
  };
}

/** Whether pulling it would fail: `app:404`, `non-existent`, `registry.example/invalid/app:1`. */
export function isMissing(image: string): boolean {
  const { path, tag } = partsOf(image);
  return tag === MISSING_TAG || [...path, tag].some((part) => MISSING.has(part));
}

/** Whether it does nothing but wait. */
export function isPause(image: string): boolean {
  return partsOf(image).path.at(-1) === "pause";
}

/** By which a status tells the image that runs: its name without the tag, and a digest. */
export function imageIdOf(image: string): string {
  const repository = partsOf(image).path.join("/");
  return `${repository}@sha256:${createHash("sha256").update(image).digest("hex")}`;
}
