// Reads WARC files with the npm package warcio and checks every digest and every CDXJ line.
//
//   npm install --prefix /tmp/interop warcio
//   NODE_PATH=/tmp/interop/node_modules node tests/interop/warcio.mjs FILE.warc.gz...
//
// One line per file, exit status 1 when anything is wrong. The index beside a file (X.cdxj) must be
// sorted and name exactly the captures that warcio's parser finds, at its offsets.
import {createHash} from "node:crypto";
import {createReadStream, existsSync, readFileSync} from "node:fs";
import {createRequire} from "node:module";

const require = createRequire((process.env.NODE_PATH ?? ".") + "/");
const {WARCParser} = require("warcio");

function base32(bytes) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  let bits = 0, value = 0, out = "";
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      out += letters[(value >>> (bits - 5)) & 31];
      bits -= 5;
    }
    value &= 255;
  }
  return out;
}

const sha1 = (bytes) => "sha1:" + base32(createHash("sha1").update(bytes).digest());

async function records(file, parseHttp) {
  const all = [];
  const parser = new WARCParser(createReadStream(file), {parseHttp});
  for await (const record of parser) {
    const bytes = await record.readFully(false);
    all.push({record, bytes, offset: parser.offset, length: parser.recordLength});
  }
  return all;
}

function index(file) {
  const lines = readFileSync(file, "latin1").split("\n").slice(0, -1);
  const sorted = [...lines].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const entries = lines.map((line) => JSON.parse(line.slice(line.indexOf("{"))));
  return {entries, sorted: lines.every((line, i) => line === sorted[i])};
}

let bad = 0;
for (const file of process.argv.slice(2)) {
  const problems = [];
  const blocks = await records(file, false);
  const messages = await records(file, true);
  let digests = 0;
  messages.forEach((message, i) => {
    const {record} = message;
    const at = `offset ${message.offset} ${record.warcType}`;
    const block = record.warcBlockDigest, payload = record.warcPayloadDigest;
    if (!block || sha1(blocks[i].bytes) !== block) problems.push(`${at}: block digest`);
    digests += block ? 1 : 0;
    if (payload && record.warcType !== "revisit") {
      if (sha1(message.bytes) !== payload) problems.push(`${at}: payload digest`);
      digests++;
    }
    if (["response", "revisit"].includes(record.warcType) && !(record.httpHeaders?.statusCode > 99)) {
      problems.push(`${at}: no HTTP status`);
    }
  });
  const path = file.replace(/\.warc\.gz$/, ".cdxj");
  if (existsSync(path)) {
    const {entries, sorted} = index(path);
    if (!sorted) problems.push("index is not sorted");
    const places = new Map(entries.map((entry) => [Number(entry.offset), entry]));
    const captures = messages.filter((m) => ["response", "revisit", "resource"].includes(m.record.warcType));
    if (captures.length !== entries.length) problems.push(`${captures.length} captures, ${entries.length} lines`);
    for (const {record, offset, length} of captures) {
      const entry = places.get(offset);
      if (!entry || Number(entry.length) !== length || entry.url !== record.warcTargetURI) {
        problems.push(`offset ${offset}: index`);
      }
    }
  }
  console.log(`${file}: ${messages.length} records, ${digests} digests, ${problems.length} problems`);
  problems.slice(0, 20).forEach((problem) => console.log(`  ${problem}`));
  bad += problems.length;
}
process.exit(bad === 0 ? 0 : 1);
