/**
 * The record of a set in a ConfigMap, which is also its parent as an ApplySet. The list of members is what pruning goes
 * by; the annotations let other tools see the set, and keep them off it.
 */
import { ConfigMap } from "#api/core";
import { equal } from "#lib/json";
import { isAlreadyExists, isConflict } from "../../errors.ts";
import type { CallOptions, Client } from "../../types.ts";
import { ApplyError } from "../apply-error.ts";
import { isNamespaceMissing } from "../attempts.ts";
import type { ObjectId } from "../identity.ts";
import { existing } from "../live.ts";
import type { Inventory, Membership } from "../types.ts";
import { ApplySetAnnotation, ApplySetLabel, applySetId, memberAnnotations } from "./apply-set.ts";
import { memberList, membersIn } from "./member-list.ts";

const TOOL = "capstan";
const MANAGER = "capstan-applyset";
const MEMBERS = "members";
/** Room for metadata beside it in what a server stores. */
const LARGEST_RECORD = 900 * 1024;

export interface ConfigMapInventoryOptions {
  readonly client: Client;
  readonly name: string;
  readonly namespace: string;
  /** The version of whoever writes. */
  readonly version: string;
}

/** A set that is recorded in a ConfigMap of its name, and what its members carry. */
export function configMapSet(options: ConfigMapInventoryOptions): { inventory: Inventory; membership: Membership } {
  const inventory = new ConfigMapInventory(options);
  return { inventory, membership: { label: { key: ApplySetLabel.partOf, value: inventory.id } } };
}

interface SetRecord {
  readonly metadata: {
    name: string;
    namespace: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
  };
  readonly data: Record<string, string>;
}

class ConfigMapInventory implements Inventory {
  readonly id: string;
  readonly #options: ConfigMapInventoryOptions;
  #live: ConfigMap | undefined;

  constructor(options: ConfigMapInventoryOptions) {
    this.#options = options;
    this.id = applySetId(this.#parent);
  }

  async read(options: CallOptions): Promise<readonly ObjectId[]> {
    const { client } = this.#options;
    const live = await existing(client, ConfigMap, this.#key, options);
    this.#live = live;
    if (!live) return [];
    this.#check(live);
    const members = membersIn(live.data?.[MEMBERS] ?? "");
    if (members) return members;
    throw new ApplyError(`the record of set ${this.#key} cannot be read; mend or delete that ConfigMap`);
  }

  async write(members: readonly ObjectId[], options: CallOptions): Promise<void> {
    const record = this.#record(members);
    const live = this.#live;
    const { client } = this.#options;
    try {
      if (!live) this.#live = await client.create(ConfigMap, record, { ...options, fieldManager: MANAGER });
      else if (!this.#says(live, record)) {
        const { uid, resourceVersion } = live.metadata;
        const patch = { ...record, metadata: { ...record.metadata, uid, resourceVersion } };
        this.#live = await client.patch(ConfigMap, this.#key, patch, {
          ...options,
          fieldManager: MANAGER,
          type: "merge",
        });
      }
    } catch (cause) {
      if (isNamespaceMissing(cause)) {
        const next = "create it, or record the set in another one";
        throw new ApplyError(`set ${this.#key} cannot be recorded: its namespace does not exist; ${next}`, { cause });
      }
      if (!isConflict(cause) && !isAlreadyExists(cause)) throw cause;
      throw new ApplyError(`set ${this.#key} is being applied by somebody else at the same time; try again`, { cause });
    }
  }

  get #key(): string {
    return `${this.#options.namespace}/${this.#options.name}`;
  }

  get #parent() {
    const { name, namespace } = this.#options;
    return { group: "", kind: "ConfigMap", namespace, name };
  }

  /** A ConfigMap of that name may be somebody's configuration, or another tool's set. */
  #check({ metadata }: ConfigMap): void {
    const tooling = metadata.annotations?.[ApplySetAnnotation.tooling];
    const next = "choose another name for the set";
    if (tooling === undefined || metadata.labels?.[ApplySetLabel.id] === undefined) {
      throw new ApplyError(`ConfigMap ${this.#key} exists and is no record of a set; ${next}`);
    }
    if (tooling.split("/")[0] !== TOOL) {
      throw new ApplyError(`set ${this.#key} belongs to ${tooling}, not to ${TOOL}; ${next}`);
    }
    if (metadata.labels[ApplySetLabel.id] !== this.id) {
      throw new ApplyError(`ConfigMap ${this.#key} carries the id of another set; ${next}`);
    }
  }

  #record(members: readonly ObjectId[]): SetRecord {
    const { name, namespace, version } = this.#options;
    const text = memberList(members);
    if (text.length > LARGEST_RECORD) {
      throw new ApplyError(
        `set ${this.#key} has too many objects for its record (${members.length}); make it several sets`,
      );
    }
    return {
      metadata: {
        name,
        namespace,
        labels: { [ApplySetLabel.id]: this.id },
        annotations: {
          [ApplySetAnnotation.tooling]: `${TOOL}/v${version}`,
          ...memberAnnotations(members, this.#parent),
        },
      },
      data: { [MEMBERS]: text },
    };
  }

  #says({ metadata, data }: ConfigMap, record: SetRecord): boolean {
    const noted = Object.keys(record.metadata.annotations).map((key) => [key, metadata.annotations?.[key]]);
    return equal(Object.fromEntries(noted), record.metadata.annotations) && data?.[MEMBERS] === record.data[MEMBERS];
  }
}
