/**
 * How the endpoints of a Service are spread over slices. Whoever follows slices reads every one that changes as a
 * whole, so the aim is to touch few of them, not to pack them tightly.
 */
import type { EndpointPort, EndpointSlice, SliceEndpoint } from "#api/discovery";
import { equal } from "#lib/json";
import type { Stored } from "../workloads/stored.ts";
import { endpointKey, type PortGroup, portKey } from "./slice-endpoints.ts";

export const MOST_ENDPOINTS = 100;

type Slice = Stored<EndpointSlice>;

/** What a slice shall say. */
export interface SliceContent {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly SliceEndpoint[];
}

export interface SlicePlan {
  readonly create: readonly SliceContent[];
  readonly update: readonly { readonly slice: Slice; readonly content: SliceContent }[];
  readonly remove: readonly Slice[];
}

export interface SliceState {
  readonly groups: readonly PortGroup[];
  /** Of one address type and of this Service. */
  readonly existing: readonly Slice[];
  /** Whether the labels of a slice are what they should be. */
  isLabelled(slice: Slice): boolean;
}

export function planSlices({ groups, existing, isLabelled }: SliceState): SlicePlan {
  const wanted = new Map(groups.map((group) => [portKey(group.ports), group]));
  const plans = groups.map((group) => {
    const slices = existing.filter(({ ports }) => portKey(ports) === portKey(group.ports));
    return planGroup(group, slices, isLabelled);
  });
  const outdated = existing.filter(({ ports }) => !wanted.has(portKey(ports)));
  const create = plans.flatMap((plan) => plan.create);
  const update = plans.flatMap((plan) => plan.update);
  const remove = [...outdated, ...plans.flatMap((plan) => plan.remove)];
  if (create.length > 0 || remove.length < existing.length) return reusing({ create, update, remove });
  return withPlaceholder(remove, isLabelled);
}

const PLACEHOLDER: SliceContent = { ports: [], endpoints: [] };

/** A Service always has a slice, so that one without endpoints can be told from one that nobody looked at yet. */
function withPlaceholder(remove: readonly Slice[], isLabelled: SliceState["isLabelled"]): SlicePlan {
  const [only, ...others] = remove;
  const isPlaceholder = ({ ports, endpoints }: Slice) => !ports?.length && !endpoints?.length;
  if (only && others.length === 0 && isPlaceholder(only) && isLabelled(only)) {
    return { create: [], update: [], remove: [] };
  }
  return reusing({ create: [PLACEHOLDER], update: [], remove });
}

/** A slice that would go is filled anew before another one is made. */
function reusing({ create, update, remove }: SlicePlan): SlicePlan {
  const count = Math.min(create.length, remove.length);
  const reused = remove.slice(0, count).map((slice, index) => ({ slice, content: create[index] ?? PLACEHOLDER }));
  return { create: create.slice(count), update: [...update, ...reused], remove: remove.slice(count) };
}

interface Filling {
  readonly slice?: Slice;
  readonly endpoints: SliceEndpoint[];
  isChanged: boolean;
}

/** Slices that offer one set of ports. */
function planGroup(
  { ports, endpoints }: PortGroup,
  slices: readonly Slice[],
  isLabelled: SliceState["isLabelled"],
): SlicePlan {
  const homeless = new Map(endpoints.map((endpoint) => [endpointKey(endpoint), endpoint]));
  const fillings = slices.map((slice) => stillWanted(slice, homeless, isLabelled));
  const emptied = fillings.filter(({ slice, endpoints: left }) => left.length === 0 && slice?.endpoints?.length);
  const kept = fillings.filter((filling) => !emptied.includes(filling));
  const made = house([...homeless.values()], kept);

  const content = (filling: Filling): SliceContent => ({ ports, endpoints: filling.endpoints });
  return {
    create: made.map(content),
    update: kept.flatMap((filling) =>
      filling.slice && filling.isChanged ? [{ slice: filling.slice, content: content(filling) }] : [],
    ),
    remove: emptied.flatMap(({ slice }) => slice ?? []),
  };
}

/** What of a slice stays in it, in its newest form; that is then no longer homeless. */
function stillWanted(
  slice: Slice,
  homeless: Map<string, SliceEndpoint>,
  isLabelled: SliceState["isLabelled"],
): Filling {
  const before = slice.endpoints ?? [];
  const endpoints: SliceEndpoint[] = [];
  let isChanged = !isLabelled(slice);
  for (const endpoint of before) {
    const wish = homeless.get(endpointKey(endpoint));
    homeless.delete(endpointKey(endpoint));
    if (wish) endpoints.push(wish);
    if (!wish || !equal(wish, endpoint)) isChanged = true;
  }
  return { slice, endpoints, isChanged };
}

/** Puts endpoints first where something changes anyway, then together into one slice, then into new ones. */
function house(endpoints: readonly SliceEndpoint[], fillings: readonly Filling[]): Filling[] {
  let left = [...endpoints];
  const put = (filling: Filling): void => {
    const room = MOST_ENDPOINTS - filling.endpoints.length;
    filling.endpoints.push(...left.slice(0, room));
    filling.isChanged = true;
    left = left.slice(room);
  };

  const changing = fillings.filter(({ isChanged }) => isChanged);
  for (const filling of changing.sort((a, b) => b.endpoints.length - a.endpoints.length)) {
    if (left.length > 0) put(filling);
  }
  const made: Filling[] = [];
  while (left.length > 0) {
    const best = fullestWithRoom(left.length, fillings);
    if (best) put(best);
    else {
      const fresh: Filling = { endpoints: [], isChanged: true };
      put(fresh);
      made.push(fresh);
    }
  }
  return made;
}

function fullestWithRoom(count: number, fillings: readonly Filling[]): Filling | undefined {
  return fillings
    .filter((filling) => !filling.isChanged && filling.endpoints.length + count <= MOST_ENDPOINTS)
    .sort((a, b) => b.endpoints.length - a.endpoints.length)[0];
}
