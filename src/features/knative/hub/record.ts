/**
 * What has been put on a cluster for an installation: a list in a ConfigMap beside it, so that nothing that was ever
 * put there is forgotten, whichever version, ingress or source it came with. It is read once and then known, because
 * nobody else writes it.
 */
import { ConfigMap } from "#api/core";
import { keyOf, type OwnerReference } from "#api/meta";
import { type CallOptions, isNotFound, memberList, membersIn, type ObjectId, type SetInventory } from "#kube";
import type { Cluster } from "#runtime";

export interface RecordOptions {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Whose end is its end too. Without one no list is made: whoever only removes needs none. */
  readonly owner?: OwnerReference;
  /** What is there where no list is: another operator may have installed it. */
  readonly before: () => Promise<readonly ObjectId[]>;
  /** The lists of those whose place it takes; they are its own from then on. */
  readonly inherited: (options: CallOptions) => Promise<readonly ConfigMap[]>;
}

const MEMBERS = "members";

export class InstalledRecord implements SetInventory {
  readonly #options: RecordOptions;
  #known: readonly ObjectId[] | undefined;
  #written: string | undefined;
  #inherited: readonly string[] = [];

  constructor(options: RecordOptions) {
    this.#options = options;
  }

  async read(options: CallOptions): Promise<readonly ObjectId[]> {
    this.#known ??= [...(await this.#stored(options)), ...(await this.#legacy(options))];
    return this.#known;
  }

  async write(members: readonly ObjectId[], options: CallOptions): Promise<void> {
    const text = memberList(members);
    if (text !== this.#written) {
      if (this.#written === undefined) await this.#create(text, options);
      else await this.#replace(text, options);
    }
    this.#written = text;
    this.#known = [...members];
    if (this.#options.owner) await this.#dropInherited(options);
  }

  /** Removes the list itself, after what it lists. */
  async remove(options: CallOptions): Promise<void> {
    await this.#dropInherited(options);
    await this.#delete(this.#key, options);
  }

  /** Lets the list outlive its owner. */
  async release(options: CallOptions): Promise<void> {
    try {
      const patch = { metadata: { ownerReferences: null } };
      await this.#options.cluster.client.patch(ConfigMap, this.#key, patch, { ...options, type: "merge" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #stored(options: CallOptions): Promise<readonly ObjectId[]> {
    const { cluster, before } = this.#options;
    try {
      const live = await cluster.client.get(ConfigMap, this.#key, options);
      const members = this.#membersOf(live);
      this.#written = live.data?.[MEMBERS] ?? "";
      return members;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return before();
    }
  }

  async #legacy(options: CallOptions): Promise<readonly ObjectId[]> {
    const lists = (await this.#options.inherited(options)).filter((list) => keyOf(list) !== this.#key);
    this.#inherited = lists.map(keyOf);
    return lists.flatMap((list) => this.#membersOf(list));
  }

  #membersOf(list: ConfigMap): readonly ObjectId[] {
    const members = membersIn(list.data?.[MEMBERS] ?? "");
    if (members) return members;
    const { name } = this.#options.cluster;
    throw new Error(`ConfigMap ${keyOf(list)} on ${name} lists what is installed and cannot be read; mend it`);
  }

  async #dropInherited(options: CallOptions): Promise<void> {
    for (const key of this.#inherited) await this.#delete(key, options);
    this.#inherited = [];
  }

  async #delete(key: string, options: CallOptions): Promise<void> {
    try {
      await this.#options.cluster.client.delete(ConfigMap, key, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #create(text: string, options: CallOptions): Promise<void> {
    const { cluster, namespace, name, labels, owner } = this.#options;
    if (!owner) return;
    const metadata = { name, namespace, labels: { ...labels }, ownerReferences: [owner] };
    await cluster.client.create(ConfigMap, { metadata, data: { [MEMBERS]: text } }, options);
  }

  async #replace(text: string, options: CallOptions): Promise<void> {
    const { cluster, owner } = this.#options;
    const patch = { ...(owner && { metadata: { ownerReferences: [owner] } }), data: { [MEMBERS]: text } };
    try {
      await cluster.client.patch(ConfigMap, this.#key, patch, { ...options, type: "merge" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#create(text, options);
    }
  }

  get #key(): string {
    return `${this.#options.namespace}/${this.#options.name}`;
  }
}
