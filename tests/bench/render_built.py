"""What render_bed.py has compiled: applications by Angular and Svelte, and a site by Docusaurus, in build/npm/built. They are
made once; `rm -r build/npm/built` has them made anew."""
import json
import os
import subprocess

ANGULAR = """
import '@angular/compiler';
import {Component, provideZonelessChangeDetection, signal} from '@angular/core';
import {bootstrapApplication} from '@angular/platform-browser';
const found = location.pathname.match(/item.(\\d+)/);
class Page { data = signal(null); list = found ? [] : Array.from({length: ITEMS}, (_, i) => i + 1);
  constructor() { if (found) fetch(`/api/${found[1]}.json`).then(r => r.json()).then(d => this.data.set(d)) } }
const App = Component({selector: 'app-root', template: `@for (n of list; track n) {<a [href]="'/item/' + n">item {{n}}</a> }
  @if (data(); as d) {<h1>{{d.title}}</h1><p>{{d.text}}</p><a href="/">all</a> @for (l of d.links; track l) {
  <a [href]="l">{{l}}</a> }}`})(Page);
bootstrapApplication(App, {providers: [provideZonelessChangeDetection()]});
"""
SVELTE = """
<script> const found = location.pathname.match(/item.(\\d+)/); let data = $state(null);
  if (found) fetch(`/api/${found[1]}.json`).then(r => r.json()).then(d => { data = d }) </script>
{#if !found}<h1>List</h1>{#each {length: ITEMS} as _, i}<a href="/item/{i + 1}">item {i + 1}</a> {/each}
{:else if data}<h1>{data.title}</h1><p>{data.text}</p><a href="/">all</a> {#each data.links as l}<a href={l}>{l}</a> {/each}{/if}
"""
COMPILE = """
import {compile} from 'svelte/compiler'; import {readFileSync, writeFileSync} from 'node:fs';
writeFileSync('page.js', compile(readFileSync('page.svelte', 'utf8'), {generate: 'client'}).js.code);
"""
CONFIG = {"title": "Bed", "url": "http://docusaurus", "baseUrl": "/", "trailingSlash": False, "onBrokenLinks": "ignore",
          "markdown": {"format": "md"},
          "presets": [["@docusaurus/preset-classic", {"docs": {"routeBasePath": "/"}, "blog": False}]]}
LIST = """
import React from 'react'; import Layout from '@theme/Layout'; import BrowserOnly from '@docusaurus/BrowserOnly';
export default () => <Layout><BrowserOnly>{() => <ul>{[...Array(ITEMS).keys()].map(n => <li key={n}>
  <a href={`/doc${n % DOCS}`}>made {n}</a></li>)}</ul>}</BrowserOnly></Layout>;
"""


def write(place, files):
    for name, text in files.items():
        os.makedirs(os.path.dirname(f"{place}/{name}"), exist_ok=True)
        with open(f"{place}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def applications(npm, place, items):
    write(place, {"angular.in.js": ANGULAR.replace("ITEMS", str(items)), "page.svelte": SVELTE.replace("ITEMS", str(items)),
                  "compile.mjs": COMPILE, "svelte.in.js":
                  "import {mount} from 'svelte'; import Page from './page.js'; mount(Page, {target: document.body})"})
    subprocess.run(["node", "compile.mjs"], cwd=place, check=True)
    for name in ("angular", "svelte"):
        subprocess.run([f"{npm}/.bin/esbuild", f"{name}.in.js", "--bundle", "--minify", "--format=esm", "--log-level=warning",
                        "--conditions=browser,production", f"--outfile={name}.js"], cwd=place, check=True)


def site(npm, place, texts):
    """A page for each text, /doc0, /doc1, ...; /list is empty without scripts."""
    docs = {f"docs/doc{n}.md": f"# Document {n}\n\n{text}\n\n[next](doc{(n + 1) % len(texts)}.md)\n"
            for n, text in enumerate(texts)}
    write(f"{place}/site", {**docs, "docusaurus.config.js": f"module.exports = {json.dumps(CONFIG)}", "package.json": "{}",
                            "src/pages/list.js": LIST.replace("ITEMS", "30").replace("DOCS", str(len(texts)))})
    subprocess.run([f"{npm}/.bin/docusaurus", "build"], cwd=f"{place}/site", check=True, stdout=subprocess.DEVNULL)


def build(npm, items, texts):
    """The folder where they are: angular.js, svelte.js, site/build."""
    place = os.path.abspath(f"{npm}/../built")
    if not os.path.exists(f"{place}/site/build/list.html"):
        os.makedirs(place, exist_ok=True)
        if not os.path.lexists(f"{place}/node_modules"):
            os.symlink(os.path.abspath(npm), f"{place}/node_modules")
        applications(os.path.abspath(npm), place, items)
        site(os.path.abspath(npm), place, texts)
    return place
