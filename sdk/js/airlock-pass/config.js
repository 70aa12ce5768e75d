// What a pass is told beside the graph: TorchAir's `config`.

import * as host from "airlock:pass/host@0.1.1";

const WORDS = { True: true, False: false, true: true, false: false, None: null };

function read(text) {
  if (Object.hasOwn(WORDS, text)) return WORDS[text];
  const number = Number(text);
  return text.trim() === "" || Number.isNaN(number) ? text : number;
}

export class CompilerConfig {
  constructor(text) {
    this.text = text;
  }

  get mode() {
    return host.mode();
  }

  get stage() {
    return host.stage();
  }

  get(key, otherwise) {
    const text = host.getOption(key);
    return text === undefined ? otherwise : read(text);
  }

  getText(key, otherwise) {
    return host.getOption(key) ?? otherwise;
  }
}
