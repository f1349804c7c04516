/** The table of Pods: what `kubectl get pods` makes of their container states. */
import type { DynamicObject } from "#api/meta";
import { at, type Fields, fieldsAt, numberAt, objectsAt, textAt } from "../fields.ts";
import { age } from "./age.ts";
import { ageColumn, column, layout, NONE, nameColumn, orNone, wide } from "./layout.ts";

export const pods = layout(
  nameColumn,
  column("Ready", "How many containers are ready, of all.", (pod) => {
    const { ready, total } = podState(pod);
    return `${ready}/${total}`;
  }),
  column("Status", "What the containers are doing together.", (pod) => podState(pod).reason),
  column("Restarts", "How often containers were restarted, and when last.", (pod, now) => {
    const { restarts, restartedAt } = podState(pod);
    return restartedAt && restarts > 0 ? `${restarts} (${age(restartedAt, now)} ago)` : String(restarts);
  }),
  ageColumn,
  ...wide(
    column("IP", "The address of the Pod.", (pod) =>
      orNone(textAt(objectsAt(pod, "status", "podIPs")[0], "ip") || textAt(pod, "status", "podIP")),
    ),
    column("Node", "The node the Pod is bound to.", (pod) => orNone(textAt(pod, "spec", "nodeName"))),
    column("Nominated Node", "The node where room is being made for the Pod.", (pod) =>
      orNone(textAt(pod, "status", "nominatedNodeName")),
    ),
    column("Readiness Gates", "How many further conditions of readiness are true, of all.", (pod) => {
      const gates = objectsAt(pod, "spec", "readinessGates");
      const open = gates.filter((gate) => hasCondition(pod, textAt(gate, "conditionType")));
      return gates.length === 0 ? NONE : `${open.length}/${gates.length}`;
    }),
  ),
);

interface PodState {
  ready: number;
  total: number;
  restarts: number;
  restartedAt: string;
  reason: string;
}

function podState(pod: DynamicObject): PodState {
  const sidecars = new Set(
    objectsAt(pod, "spec", "initContainers")
      .filter((container) => container.restartPolicy === "Always")
      .map(({ name }) => name),
  );
  const state: PodState = {
    ready: 0,
    total: objectsAt(pod, "spec", "containers").length + sidecars.size,
    restarts: 0,
    restartedAt: "",
    reason: textAt(pod, "status", "reason") || textAt(pod, "status", "phase"),
  };
  const gated = conditionsOf(pod).some(({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated");
  if (gated) state.reason = "SchedulingGated";

  const initializing = addInitContainers(pod, sidecars, state);
  if (!initializing || hasCondition(pod, "Initialized")) addContainers(pod, sidecars, state);

  if (pod.metadata.deletionTimestamp) {
    const phase = textAt(pod, "status", "phase");
    if (textAt(pod, "status", "reason") === "NodeLost") state.reason = "Unknown";
    else if (phase !== "Succeeded" && phase !== "Failed") state.reason = "Terminating";
  }
  return state;
}

/** Whether an init container is still at work; its state is the Pod's. */
function addInitContainers(pod: DynamicObject, sidecars: ReadonlySet<unknown>, state: PodState): boolean {
  const total = objectsAt(pod, "spec", "initContainers").length;
  for (const [index, status] of objectsAt(pod, "status", "initContainerStatuses").entries()) {
    addRestarts(status, state);
    const terminated = at(status, "state", "terminated");
    const waiting = textAt(status, "state", "waiting", "reason");
    if (terminated && numberAt(terminated, "exitCode") === 0) continue;
    if (sidecars.has(status.name) && status.started === true) {
      if (status.ready === true) state.ready++;
      continue;
    }
    if (terminated) state.reason = `Init:${endOf(fieldsAt(terminated))}`;
    else if (waiting && waiting !== "PodInitializing") state.reason = `Init:${waiting}`;
    else state.reason = `Init:${index}/${total}`;
    return true;
  }
  return false;
}

function addContainers(pod: DynamicObject, sidecars: ReadonlySet<unknown>, state: PodState): void {
  const inits = objectsAt(pod, "status", "initContainerStatuses").filter(({ name }) => sidecars.has(name));
  // Restarts of finished init containers say nothing about the Pod as it is now.
  state.restarts = inits.reduce((sum, status) => sum + (numberAt(status, "restartCount") ?? 0), 0);
  let running = false;
  for (const status of objectsAt(pod, "status", "containerStatuses").reverse()) {
    addRestarts(status, state);
    const waiting = textAt(status, "state", "waiting", "reason");
    const terminated = at(status, "state", "terminated");
    if (waiting) state.reason = waiting;
    else if (terminated) state.reason = endOf(fieldsAt(terminated));
    else if (status.ready === true && at(status, "state", "running") !== undefined) {
      running = true;
      state.ready++;
    }
  }
  if (state.reason === "Completed" && running) state.reason = hasCondition(pod, "Ready") ? "Running" : "NotReady";
}

function addRestarts(status: Fields, state: PodState): void {
  state.restarts += numberAt(status, "restartCount") ?? 0;
  const finishedAt = textAt(status, "lastState", "terminated", "finishedAt");
  if (finishedAt > state.restartedAt) state.restartedAt = finishedAt;
}

function endOf(terminated: Fields): string {
  const signal = numberAt(terminated, "signal") ?? 0;
  return (
    textAt(terminated, "reason") ||
    (signal === 0 ? `ExitCode:${numberAt(terminated, "exitCode") ?? 0}` : `Signal:${signal}`)
  );
}

function conditionsOf(pod: DynamicObject): Fields[] {
  return objectsAt(pod, "status", "conditions");
}

function hasCondition(pod: DynamicObject, type: string): boolean {
  return conditionsOf(pod).some((condition) => condition.type === type && condition.status === "True");
}
