/**
 * Who did what: every request as an Event of audit.k8s.io/v1 at level Metadata. The latest are kept in memory for
 * whoever wants to show them, all of them in a file for a while. Bodies are never looked at, and what in a URL
 * could be a credential is masked.
 */
export { type AuditEvent, type AuditedRequest, auditEvent, type Stage } from "./event.ts";
export { type AuditLog, createAuditLog } from "./log.ts";
