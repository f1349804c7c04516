import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CronError, parseSchedule, timestampIn, UTC, type Zone, zoneNamed } from "./index.ts";

const MINUTE = 60_000;

function zone(name: string): Zone {
  const found = zoneNamed(name);
  if (!found) throw new Error(`there is no time zone ${name}`);
  return found;
}

/** The next times after a moment, as the zone's clocks show them. */
function nextTimes(schedule: string, after: string, count: number, in_: Zone = UTC): string[] {
  const parsed = parseSchedule(schedule, in_);
  const times: string[] = [];
  for (let at = parsed.next(new Date(after)); at && times.length < count; at = parsed.next(at)) {
    times.push(timestampIn(in_, at));
  }
  return times;
}

describe("the next times of a schedule", () => {
  const rows: [schedule: string, after: string, times: string[]][] = [
    ["* * * * *", "2026-01-01T00:00:30Z", ["2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"]],
    ["* * * * ?", "2026-01-01T00:00:00Z", ["2026-01-01T00:01:00Z"]],
    ["*/15 * * * *", "2026-01-01T00:31:00Z", ["2026-01-01T00:45:00Z", "2026-01-01T01:00:00Z"]],
    ["5/20 * * * *", "2026-01-01T00:31:00Z", ["2026-01-01T00:45:00Z", "2026-01-01T01:05:00Z"]],
    ["0,30 9-17/4 * * *", "2026-01-01T09:00:00Z", ["2026-01-01T09:30:00Z", "2026-01-01T13:00:00Z"]],
    ["0 0 * * SUN", "2026-01-01T00:00:00Z", ["2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"]],
    ["0 0 1 jan-Mar *", "2026-01-01T00:00:00Z", ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"]],
    ["0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T00:00:00Z"]],
    ["0 12 ,5, * *", "2026-01-01T00:00:00Z", ["2026-01-05T12:00:00Z"]],
    ["@yearly", "2026-01-01T00:00:00Z", ["2027-01-01T00:00:00Z"]],
    ["@annually", "2026-06-01T00:00:00Z", ["2027-01-01T00:00:00Z"]],
    ["@monthly", "2026-01-31T00:00:00Z", ["2026-02-01T00:00:00Z"]],
    ["@weekly", "2026-01-01T00:00:00Z", ["2026-01-04T00:00:00Z"]],
    ["@daily", "2026-01-01T00:00:00Z", ["2026-01-02T00:00:00Z"]],
    ["@midnight", "2026-01-01T23:59:59Z", ["2026-01-02T00:00:00Z"]],
    ["@hourly", "2026-01-01T00:00:00Z", ["2026-01-01T01:00:00Z"]],
    ["@every 90s", "2026-01-01T00:00:00.700Z", ["2026-01-01T00:01:30Z", "2026-01-01T00:03:00Z"]],
    ["@every 1h30m10.9s", "2026-01-01T00:00:00Z", ["2026-01-01T01:30:10Z"]],
    ["@every 5ms", "2026-01-01T00:00:00Z", ["2026-01-01T00:00:01Z"]],
    ["@every -1h", "2026-01-01T00:00:00Z", ["2026-01-01T00:00:01Z"]],
  ];
  it.each(rows)("of %s after %s", (schedule, after, times) => {
    expect(nextTimes(schedule, after, times.length)).toEqual(times);
  });

  it("fall on days that fit either field when both name days", () => {
    expect(nextTimes("0 0 13 * FRI", "2026-02-01T00:00:00Z", 4)).toEqual([
      "2026-02-06T00:00:00Z",
      "2026-02-13T00:00:00Z",
      "2026-02-20T00:00:00Z",
      "2026-02-27T00:00:00Z",
    ]);
  });

  it("fall on days that fit both fields when one of them is open", () => {
    expect(nextTimes("0 0 * * FRI", "2026-02-01T00:00:00Z", 1)).toEqual(["2026-02-06T00:00:00Z"]);
    expect(nextTimes("0 0 */1 * FRI", "2026-02-01T00:00:00Z", 1)).toEqual(["2026-02-06T00:00:00Z"]);
    expect(nextTimes("0 0 */2 * FRI", "2026-02-01T00:00:00Z", 1)).toEqual(["2026-02-03T00:00:00Z"]);
  });

  it("are none when no such day exists", () => {
    expect(nextTimes("59 23 31 2 *", "2026-01-01T00:00:00Z", 1)).toEqual([]);
  });
});

describe("changed clocks", () => {
  it("skip a time that does not exist that day", () => {
    expect(nextTimes("30 2 * * *", "2026-03-28T12:00:00Z", 2, zone("Europe/Berlin"))).toEqual([
      "2026-03-30T02:30:00+02:00",
      "2026-03-31T02:30:00+02:00",
    ]);
  });

  it("bring a time twice that exists twice", () => {
    expect(nextTimes("30 2 * * *", "2026-10-24T12:00:00Z", 3, zone("Europe/Berlin"))).toEqual([
      "2026-10-25T02:30:00+02:00",
      "2026-10-25T02:30:00+01:00",
      "2026-10-26T02:30:00+01:00",
    ]);
  });

  it("leave steady schedules alone", () => {
    const times = nextTimes("*/30 * * * *", "2026-03-08T06:15:00Z", 4, zone("America/New_York"));
    expect(times).toEqual([
      "2026-03-08T01:30:00-05:00",
      "2026-03-08T03:00:00-04:00",
      "2026-03-08T03:30:00-04:00",
      "2026-03-08T04:00:00-04:00",
    ]);
  });

  it("may move by half an hour, or over midnight", () => {
    expect(nextTimes("45 1 * * *", "2026-04-04T12:00:00Z", 2, zone("Australia/Lord_Howe"))).toEqual([
      "2026-04-05T01:45:00+11:00",
      "2026-04-05T01:45:00+10:30",
    ]);
    expect(nextTimes("0 0 * * *", "2018-11-03T12:00:00Z", 1, zone("America/Sao_Paulo"))).toEqual([
      "2018-11-05T00:00:00-02:00",
    ]);
  });

  it("may skip a whole day", () => {
    expect(nextTimes("0 12 30 12 *", "2011-12-01T00:00:00Z", 1, zone("Pacific/Apia"))).toEqual([
      "2012-12-30T12:00:00+14:00",
    ]);
  });
});

describe("the latest time", () => {
  const rows: [schedule: string, after: string, until: string, latest: string | undefined][] = [
    ["*/10 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:09:59Z", undefined],
    ["*/10 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z", "2026-01-01T00:10:00Z"],
    ["*/10 * * * *", "2020-01-01T00:00:00Z", "2026-01-01T00:25:00Z", "2026-01-01T00:20:00Z"],
    ["30 6-16/4 * * 1-5", "2026-01-02T14:30:00Z", "2026-01-05T06:00:00Z", undefined],
    ["0 0 31 2 *", "2020-01-01T00:00:00Z", "2026-01-01T00:00:00Z", undefined],
    ["@every 7m", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T00:56:00Z"],
    ["@every 7m", "2026-01-01T00:00:00Z", "2026-01-01T00:06:59Z", undefined],
  ];
  it.each(rows)("of %s after %s until %s", (schedule, after, until, latest) => {
    const found = parseSchedule(schedule).latest(new Date(after), new Date(until));
    expect(found && timestampIn(UTC, found)).toBe(latest);
  });
});

describe("what is no schedule", () => {
  const rows: [text: string, why: string][] = [
    ["", "empty spec string"],
    ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
    ["0 0 * * * *", "expected exactly 5 fields, found 6: [0 0 * * * *]"],
    ["60 * * * *", "end of range (60) above maximum (59): 60"],
    ["* 5-2 * * *", "beginning of range (5) beyond end of range (2): 5-2"],
    ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
    ["* * * * 7", "end of range (7) above maximum (6): 7"],
    ["*/0 * * * *", "step of range should be a positive number: */0"],
    ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
    ["1/2/3 * * * *", "too many slashes: 1/2/3"],
    ["jan * * * *", 'failed to parse int from jan: strconv.Atoi: parsing "jan": invalid syntax'],
    ["@often", "unrecognized descriptor: @often"],
    ["@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'],
  ];
  it.each(rows)("%s", (text, why) => {
    expect(() => parseSchedule(text)).toThrow(new CronError(why));
  });
});

describe("time zones", () => {
  it.each(["UTC", "Etc/UTC", "Europe/Berlin", "Asia/Kolkata", "America/Argentina/Ushuaia", "Etc/GMT+5"])(
    "%s is known",
    (name) => expect(zoneNamed(name)?.name).toBe(name),
  );

  it.each(["", "Mars/Base", "europe/berlin", "../etc/passwd", "Europe//Berlin", "+01:00", "-0500"])(
    "%j is not",
    (name) => expect(zoneNamed(name)).toBeUndefined(),
  );
});

const field = (min: number, max: number, names: readonly string[] = []): fc.Arbitrary<string> => {
  const value = fc.integer({ min, max });
  const shown = (number: number) => names[number - min] ?? String(number);
  const range = fc.tuple(value, value).map(([a, b]) => `${shown(Math.min(a, b))}-${shown(Math.max(a, b))}`);
  const base = fc.oneof(fc.constant("*"), value.map(shown), range);
  const part = fc.oneof(
    base,
    fc.tuple(base, fc.integer({ min: 1, max: 20 })).map(([text, step]) => `${text}/${step}`),
  );
  return fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(","));
};
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const schedules = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6, WEEKDAYS))
  .map((fields) => fields.join(" "));
const zones = fc.constantFrom(
  ...["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"].map(
    zone,
  ),
  zone("Antarctica/Troll"),
);
const moments = fc.date({ min: new Date("2015-01-01"), max: new Date("2035-01-01"), noInvalidDate: true });

describe("for any schedule, zone and moment", () => {
  it("the next time is the first minute whose clocks fit", () => {
    fc.assert(
      fc.property(schedules, zones, moments, (text, in_, after) => {
        const found = parseSchedule(text, in_).next(after);
        // A look at every minute of two days, the slow way: what the clocks show, field by field.
        const fits = wallFits(text, in_);
        const first = Math.floor(after.getTime() / MINUTE) * MINUTE + MINUTE;
        for (let at = first; at < first + 2 * 1440 * MINUTE; at += MINUTE) {
          if (fits(at)) return found?.getTime() === at;
        }
        return found === undefined || (found.getTime() >= first + 2 * 1440 * MINUTE && fits(found.getTime()));
      }),
      { numRuns: 60 },
    );
  });

  it("the latest time is the last of the next ones", () => {
    fc.assert(
      fc.property(schedules, zones, moments, fc.integer({ min: 0, max: 3 * 1440 }), (text, in_, after, minutes) => {
        const until = new Date(after.getTime() + minutes * MINUTE);
        const schedule = parseSchedule(text, in_);
        let last: Date | undefined;
        for (let at = schedule.next(after); at && at <= until; at = schedule.next(at)) last = at;
        expect(schedule.latest(after, until)).toEqual(last);
      }),
      { numRuns: 60 },
    );
  });
});

/** Whether a moment fits a schedule, told from the text of its clocks and not from arithmetic. */
function wallFits(text: string, in_: Zone): (ms: number) => boolean {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: in_.name,
    hourCycle: "h23",
    weekday: "short",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = text.split(" ");
  const open = (part: string) => part.split(",").some((each) => each === "*" || each === "*/1");
  return (ms) => {
    const shown = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const number = (type: Intl.DateTimeFormatPartTypes) => Number(shown.get(type));
    if (!named(minute, 59, number("minute")) || !named(hour, 23, number("hour")) || !named(month, 12, number("month")))
      return false;
    const byDay = named(day, 31, number("day"));
    const byWeekday = named(weekday, 6, WEEKDAYS.indexOf((shown.get("weekday") ?? "").toLowerCase()));
    return open(day) || open(weekday) ? byDay && byWeekday : byDay || byWeekday;
  };
}

function named(text: string, max: number, value: number): boolean {
  return text.split(",").some((part) => {
    const [range = "", step] = part.split("/");
    const number = (name: string) => (WEEKDAYS.includes(name) ? WEEKDAYS.indexOf(name) : Number(name));
    const [low = "", high] = range.split("-");
    const first = low === "*" ? (max === 31 || max === 12 ? 1 : 0) : number(low);
    const last = low === "*" || (step && !high) ? max : number(high ?? low);
    return value >= first && value <= last && (value - first) % Number(step ?? 1) === 0;
  });
}
