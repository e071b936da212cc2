// The objects of a PDF (ISO 32000) and their streams, as they are or by Flate.

const MOST_BYTES = 64 * 1024 * 1024;  // of all streams that are read, once they are inflated
const MOST_READS = 4;  // of each character, in the mean
const ESCAPES = {n: "\n", r: "\r", t: "\t", b: "\b", f: "\f"};

export class Word { constructor(text) { this.text = text; } }    // an operator or keyword
class Reference { constructor(id) { this.id = id; } }
export class Bytes { constructor(text) { this.text = text; } }   // a string: a byte for each character

// Reads values in turn; undefined at the end.
export class Reader {
  constructor(text, at = 0) { this.text = text; this.at = at; }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  next() {
    this.match(/(?:[\s\0]+|%[^\r\n]*)+/y);
    let found;
    if ((found = this.match(/(\d{1,10})\s{1,9}\d{1,5}\s{1,9}R(?![A-Za-z])/y))) return new Reference(Number(found[1]));
    if ((found = this.match(/[+-]?(?:\d+\.?\d*|\.\d+)/y))) return Number(found[0]);
    if ((found = this.match(/\/([^\s\0()<>[\]{}/%]*)/y)))
      return found[1].replace(/#([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
    if (this.match(/<</y)) return new Map(this.pairs());
    if (this.match(/\[/y)) return this.until("]");
    if (this.match(/\(/y)) return new Bytes(this.literal());
    if ((found = this.match(/<([^>]*)>/y))) {
      const digits = found[1].replace(/[^0-9a-f]/gi, "");
      return new Bytes((digits + "0").replace(
          /(..)|./g, (_, hex) => hex ? String.fromCharCode(parseInt(hex, 16)) : ""));
    }
    if ((found = this.match(/[^\s\0()<>[\]{}/%]+|[\])>{}]+?/y))) return new Word(found[0]);
    return undefined;
  }

  until(end) {
    const values = [];
    for (let value; (value = this.next()) !== undefined;) {
      if (value instanceof Word && value.text === end) break;
      values.push(value);
    }
    return values;
  }

  pairs() {
    const values = this.until(">");
    this.match(/>/y);
    return Array.from({length: values.length >> 1}, (_, i) => [values[2 * i], values[2 * i + 1]]);
  }

  literal() {
    let text = "";
    for (let depth = 1, found; (found = this.match(/\\(?:([0-7]{1,3})|\r\n|([\s\S]))|[()]|[^\\()]+/y));) {
      if (found[0] === "(") ++depth;
      if (found[0] === ")" && --depth === 0) break;
      if (found[1]) text += String.fromCharCode(parseInt(found[1], 8) & 255);
      else if (found[0][0] === "\\") text += /[\r\n]/.test(found[2] ?? "\n") ? "" : ESCAPES[found[2]] ?? found[2];
      else text += found[0];
    }
    return text;
  }
}

// A character for each byte.
export function textOfBytes(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return text;
}

export const bytesOfText = (text) => Uint8Array.from(text, (one) => one.charCodeAt(0));

function check(budget) {
  if (budget.left < 0) throw new Error("the PDF has more than 64 MiB in its streams");
}

async function inflated(text, budget) {
  const reader = new Blob([bytesOfText(text)]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  let all = "";
  try {
    for (let part; budget.left >= 0 && !(part = await reader.read()).done;) {
      budget.left -= part.value.length;
      all += textOfBytes(part.value);
    }
  } catch (error) {
    if (!all) throw error;  // bytes behind the end of a stream do no harm
  }
  check(budget);
  return all;
}

export class PdfObjects {
  constructor(text) { this.text = text; this.objects = new Map(); this.budget = {left: MOST_BYTES}; }

  // The object behind a reference, or the value itself.
  of(value) {
    for (let n = 0; value instanceof Reference && n < 16; ++n) value = this.objects.get(value.id)?.value;
    return value;
  }
  member(map, name) { return map instanceof Map ? this.of(map.get(name)) : undefined; }

  async stream(reference) {
    const object = this.objects.get(reference?.id);
    if (object?.begin === undefined) return "";
    const length = this.member(object.value, "Length");
    const byLength = object.begin + length;
    const end = /^\s*endstream/.test(this.text.slice(byLength, byLength + 16)) ? byLength
        : this.text.indexOf("endstream", object.begin);
    const filter = [this.member(object.value, "Filter") ?? []].flat();
    const data = this.text.slice(object.begin, end);
    if (filter.length === 0) {
      this.budget.left -= data.length;
      check(this.budget);
      return data;
    }
    if (filter.length > 1 || this.of(filter[0]) !== "FlateDecode") return "";
    return inflated(data, this.budget);
  }

  // The next value. Objects that begin in others would take for ever.
  valueOf(reader) {
    const begin = reader.at, value = reader.next();
    this.unread -= reader.at - begin;
    if (this.unread < 0) throw new Error("the PDF is damaged: its objects overlap");
    return value;
  }

  async read() {
    const packed = [];
    this.unread = MOST_READS * this.text.length;
    for (const found of this.text.matchAll(/(?<!\d)(\d{1,10})\s{1,9}\d{1,5}\s{1,9}obj\b/g)) {
      const reader = new Reader(this.text, found.index + found[0].length);
      const object = {value: this.valueOf(reader)};
      if (object.value instanceof Map && reader.match(/\s*stream\r?\n/y)) object.begin = reader.at;
      this.objects.set(Number(found[1]), object);
      if (this.member(object.value, "Type") === "ObjStm") packed.push(new Reference(Number(found[1])));
    }
    if (/\/Encrypt\s{1,9}\d{1,10}\s{1,9}\d{1,5}\s{1,9}R/.test(this.text))
      throw new Error("the PDF is encrypted, expected one without a password");
    for (const reference of packed) {
      const text = await this.stream(reference), head = new Reader(text);
      const first = this.member(this.of(reference), "First");
      this.unread += MOST_READS * text.length;
      for (let id; typeof (id = head.next()) === "number" && head.at <= first;)
        this.objects.set(id, {value: this.valueOf(new Reader(text, first + head.next()))});
    }
  }

  // Pages in their order, with their resources, which they may inherit.
  * pages(node, resources, seen = new Set()) {
    const map = this.of(node), own = this.member(map, "Resources") ?? resources;
    if (!(map instanceof Map) || seen.has(map)) return;
    seen.add(map);
    const kids = this.member(map, "Kids");
    if (Array.isArray(kids)) for (const kid of kids) yield* this.pages(kid, own, seen);
    else yield [map, own];
  }
}
