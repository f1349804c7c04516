/** Writes requests to the audit log. */
import type { Clock } from "#lib/clock";
import { type AuditLog, auditEvent, type Stage } from "../audit/index.ts";
import { type Exchange, type ExchangeObserver, isLongRunning } from "./exchange.ts";
import { isHealthPage } from "./pages.ts";

export function auditObserver(audit: AuditLog, clock: Clock): ExchangeObserver {
  const record = (exchange: Exchange, stage: Stage) => {
    if (isNoise(exchange)) return;
    const { info, createdName } = exchange;
    const isNamed = info.resource?.name !== undefined || createdName === undefined;
    const object = isNamed || !info.resource ? info.resource : { ...info.resource, name: createdName };
    const { auditId, receivedAt, uri, userAgent, sourceIp, caller, user, decision, code, failure, annotations } =
      exchange;
    audit.record(
      auditEvent(
        {
          auditId,
          receivedAt,
          uri,
          verb: info.verb,
          userAgent,
          sourceIp,
          caller,
          user,
          object,
          decision,
          annotations,
          code,
          failure,
        },
        stage,
        clock.now(),
      ),
    );
  };
  return {
    streaming: (exchange) => record(exchange, "ResponseStarted"),
    completed: (exchange) => record(exchange, "ResponseComplete"),
  };
}

/** Probes and heartbeats come by the thousand, say nothing of what people do, and would push out what does. */
function isNoise(exchange: Exchange): boolean {
  const { info, code = 0 } = exchange;
  if (isHealthPage(info.path)) return true;
  const isLease = info.resource?.group === "coordination.k8s.io" && info.resource.resource === "leases";
  return isLease && !isLongRunning(exchange) && ["get", "update", "patch"].includes(info.verb) && code < 300;
}
