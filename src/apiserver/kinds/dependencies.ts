/** What some kinds need from the rest of the server: tokens, permissions, addresses, other objects. */
import type { DynamicObject } from "#api/meta";
import type { Attributes, Decision } from "../auth/index.ts";
import type { Answer, ByteStream, ConnectRequest, RequestContext, SubresourceRequest, UserInfo } from "../resource.ts";

export interface KindDependencies {
  /** The newest state of another object, durable or on its way there. `key` is `name` or `namespace/name`. */
  lookup(storage: string, key: string): DynamicObject | undefined;
  /** The objects of one kind in a namespace. */
  list(storage: string, namespace: string): readonly DynamicObject[];
  /**
   * Changes an object on behalf of a request, on its newest state, unless the request runs dry; the answer is what
   * became of it. What `edit` throws is thrown.
   */
  change(
    storage: string,
    key: string,
    edit: (draft: DynamicObject) => void,
    context: RequestContext,
  ): Promise<DynamicObject>;
  /** Deletes a Pod as a DELETE with these options would. */
  evict(pod: DynamicObject, deleteOptions: Record<string, unknown>, context: RequestContext): Promise<void>;
  /** The log of one of a Pod's containers, from the node that it is on. */
  readLog(request: ConnectRequest): Promise<ByteStream>;
  /** Answers a TokenRequest for the service account it was posted to. */
  issueToken(request: SubresourceRequest): Promise<DynamicObject>;
  /** Answers a TokenReview. */
  reviewToken: Answer;
  authorize(attributes: Attributes): Decision;
  /** The status of a SelfSubjectRulesReview: all that a user may do in a namespace. */
  rulesReview(user: UserInfo, namespace: string): Record<string, unknown>;
  readonly addresses: ServiceAddresses;
}

/**
 * Cluster addresses and node ports. An answer holds when the Service that asked is stored with it; what the
 * Service holds already is asked for again on every update, and given again.
 */
export interface ServiceAddresses {
  /** The wished address, or else a free one. */
  clusterIp(wish: ServiceWish & { readonly address?: string }): Allocation<string>;
  /** The wished port, or else a free one; `taken` are those that the Service has been given already. */
  nodePort(wish: ServiceWish & { readonly port?: number; readonly taken: readonly number[] }): Allocation<number>;
}

export interface ServiceWish {
  readonly namespace: string;
  readonly name: string;
  /** Whether nothing will be stored, so that nothing has to be kept for it. */
  readonly dryRun?: boolean;
}

/** What was given, or why there is none. */
export type Allocation<T> = { readonly value: T } | { readonly value?: undefined; readonly refused: string };
