import type { UserInfo } from "../resource.ts";

/** A request for a resource, as far as permission is concerned. */
export interface ResourceAttributes {
  readonly user: UserInfo;
  readonly verb: string;
  readonly group: string;
  readonly version?: string | undefined;
  /** The plural, without the subresource. */
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** A request for anything else, such as `/version`. */
export interface PathAttributes {
  readonly user: UserInfo;
  readonly verb: string;
  readonly path: string;
  readonly resource?: undefined;
}

export type Attributes = ResourceAttributes | PathAttributes;

/** `pods` or `pods/log`, as rules and messages name it. */
export function combinedResource({ resource, subresource }: ResourceAttributes): string {
  return subresource ? `${resource}/${subresource}` : resource;
}
