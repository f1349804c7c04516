/**
 * Log lines: short, one line each, the same in shape whether a person or a program reads them. Nothing is
 * written here; whoever makes the logger says where lines go.
 */
export { errorText } from "./error-text.ts";
export { createLogger, type Fields, type LogFormat, type Logger, type LogLevel, silentLog } from "./logger.ts";
export { seldomLog } from "./seldom.ts";
