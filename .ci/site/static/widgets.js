// Shows the saved state of a notebook's widgets on a static page, without RequireJS and without a CDN.
// The widget library is the one that ipywidgets itself installs (widgetsnbextension): an AMD module exporting @jupyter-widgets/base
// and /controls, made for the classic notebook. This page pretends to be one just long enough to load it.
(() => {
  "use strict";
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';
  const here = document.currentScript.src;

  function loadLibrary() {
    return new Promise((resolve, reject) => {
      const events = { on() {} };
      const notebook = { kernel: null, container: events };
      class OutputArea { register_mime_type() {} }
      window.Jupyter = { version: "6.5.7" };
      window.requirejs = (names, use) => {
        if (names.includes("notebook/js/outputarea")) use({ notebook }, events, { OutputArea });
      };
      window.requirejs.config = () => {};
      window.define = (_, factory) => {
        const library = factory({ id: "widgets", uri: script.src });
        library.load_ipython_extension();  // adds the style sheet
        resolve(library);
      };
      const script = document.createElement("script");
      script.src = new URL("jupyter-widgets/extension.js", here).href;
      script.onload = () => ["Jupyter", "define", "requirejs"].forEach((name) => delete window[name]);
      script.onerror = () => reject(new Error("the widget library did not load"));
      document.head.append(script);
    });
  }

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

  // What models and views ask of a widget manager; there is no kernel, so nothing is ever sent.
  class Manager {
    constructor(library, saved) {
      Object.assign(this, { library, saved, models: {} });
      this.output = outputWidget(library);
    }
    get_model(id) { return (this.models[id] ??= this.make(id)); }
    has_model(id) { return id in this.saved; }
    async make(id) {
      const entry = this.saved[id];
      if (!entry) throw new Error(`no saved state of widget ${id}`);
      const Model = this.find(entry.model_name, entry.model_module);
      const state = structuredClone(entry.state);
      const buffers = entry.buffers ?? [];
      this.library.put_buffers(state, buffers.map((b) => b.path), buffers.map((b) => new DataView(bytes(b.data).buffer)));
      const model = new Model(await Model._deserialize_state(state, this), { widget_manager: this, model_id: id });
      return Object.assign(model, { name: entry.model_name, module: entry.model_module });
    }
    find(name, module) {
      const Class = module === "@jupyter-widgets/output" ? this.output[name] : this.library[name];
      if (!Class) throw new Error(`no ${name} in ${module}`);
      return Class;
    }
    async create_view(model, options = {}) {
      const View = this.find(model.get("_view_name"), model.get("_view_module"));
      const view = new View({ model, options });
      view.listenTo(model, "destroy", view.remove);
      await view.render();
      return view;
    }
    async show(id, place) {
      const view = await this.create_view(await this.get_model(id));
      this.library.JupyterLuminoWidget.attach(view.luminoWidget, place);
    }
    callbacks() { return {}; }
    resolveUrl(url) { return Promise.resolve(url); }
    inline_sanitize(text) {
      const p = document.createElement("p");
      p.textContent = text;
      return p.innerHTML;
    }
  }

  // ipywidgets typesets its labels with MathJax 2; here is MathJax 3, which knows \( \) and no dollars.
  function answerForMathJax2() {
    if (!window.MathJax) return;
    const typeset = async ([, , element]) => {
      if (!element.textContent.includes("$")) return;
      await MathJax.startup.promise;
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replace(/\$([^$]+)\$/g, "\\($1\\)");
      element.classList.add("math");
      await MathJax.typesetPromise([element]);
    };
    MathJax.Hub = { Queue: typeset };
  }

  // ipywidgets' Output widget: a list of saved notebook outputs.
  function outputWidget({ DOMWidgetModel, DOMWidgetView }) {
    class OutputModel extends DOMWidgetModel {
      defaults() { return { ...super.defaults(), _view_name: "OutputView", _view_module: "@jupyter-widgets/output", outputs: [] }; }
    }
    class OutputView extends DOMWidgetView {
      render() {
        super.render();
        for (const output of this.model.get("outputs") ?? []) this.el.append(this.one(output));
      }
      one(output) {
        const data = output.data ?? {}, box = document.createElement("div");
        const image = ["image/svg+xml", "image/png", "image/jpeg"].find((type) => data[type]);
        const text = (value) => (Array.isArray(value) ? value.join("") : value ?? "");
        if (data["application/vnd.jupyter.widget-view+json"]) {
          this.model.widget_manager.show(data["application/vnd.jupyter.widget-view+json"].model_id, box);
        } else if (data["text/html"]) {
          box.innerHTML = text(data["text/html"]);
        } else if (image) {
          const img = document.createElement("img");
          const content = text(data[image]);
          img.src = image === "image/svg+xml" ? `data:${image},${encodeURIComponent(content)}` : `data:${image};base64,${content}`;
          img.alt = "Figure drawn by the widget for the values it was saved with";
          box.append(img);
        } else {
          const pre = document.createElement("pre");
          pre.textContent = text(output.text ?? data["text/latex"] ?? data["text/plain"] ?? output.traceback);
          box.append(pre);
        }
        return box;
      }
    }
    return { OutputModel, OutputView };
  }

  function parse(script) {
    const value = JSON.parse(script.textContent);
    return typeof value === "string" ? JSON.parse(value) : value;
  }

  function note(place, text) {
    const p = document.createElement("p");
    p.className = "widget-note";
    p.textContent = text;
    place.after(p);
  }

  async function main() {
    if (window.MathJax) await new Promise((done) => (document.readyState === "complete" ? done() : addEventListener("load", done)));
    const views = [...document.querySelectorAll(VIEW)];
    if (!views.length) return;
    const places = views.map((script) => {
      const div = document.createElement("div");
      div.className = "widget-static";
      script.after(div);
      return div;
    });
    const saved = {};
    document.querySelectorAll(STATE).forEach((script) => Object.assign(saved, parse(script).state));
    const manager = new Manager(await loadLibrary(), saved);
    answerForMathJax2();
    await Promise.all(views.map(async (script, i) => {
      try {
        await manager.show(parse(script).model_id, places[i]);
        note(places[i], "As saved. Open the notebook to move it: this page has no Python behind it.");
      } catch (error) {
        note(places[i], `This widget cannot be shown here (${error.message}). Open the notebook to see it.`);
        console.error(error);
      }
    }));
    document.documentElement.dataset.widgets = "shown";
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", main);
  else main();
})();
