// Run by code-cache.mjs on the target's Node.js: loads chunks, and leaves what V8 has compiled of each in a file of its number.
'use strict';
const { readFileSync, writeFileSync } = require('node:fs');
const { join, posix } = require('node:path');
const { Script } = require('node:vm');
const [, , list, folder] = process.argv;
const { codeWrapper, ids, programs, chunks } = JSON.parse(readFileSync(list, 'utf8'));
const sources = new Map(chunks);
const scripts = new Map();
const modules = new Map();

for (const id of ids) {
  if (programs.includes(id)) compile(id);
  else load(id);
}
for (const [i, id] of ids.entries())
  writeFileSync(join(folder, `${i}.cache`), scripts.get(id).createCachedData());

function compile(id) {
  const [before, after] = codeWrapper;
  const script = new Script(before + sources.get(id) + after, { filename: id });
  scripts.set(id, script);
  return script;
}

function load(id) {
  const known = modules.get(id);
  if (known) return known.exports;
  const module = { exports: {} };
  modules.set(id, module);
  const wants = (wanted) =>
    wanted.startsWith('.') ? load(posix.join(posix.dirname(id), wanted)) : require(wanted);
  compile(id).runInThisContext()(module.exports, wants, module, `/${id}`, '/');
  return module.exports;
}
