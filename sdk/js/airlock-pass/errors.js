// Errors of a pass: a refused edit or read.

/** The host refused an edit or a read; the graph is as it was before the call. */
export class EditError extends Error {
  constructor(error, index) {
    const kind = error.code === "stale" ? "stale node" : error.code.replaceAll("-", " ");
    const edit = index === undefined ? "" : `edit ${index} of the batch: `;
    const argument = error.argument === undefined ? "" : ` (argument ${error.argument})`;
    super(`${edit}${kind}${argument}: ${error.message}`);
    this.name = "EditError";
    this.code = error.code;
    this.node = error.node;
    this.argument = error.argument;
  }
}

/** What a call of the host gives; what it refuses is raised as an EditError. */
export function checked(call) {
  try {
    return call();
  } catch (raised) {
    // What the bindings raise is an error of a module of their own: only its payload tells.
    const payload = raised?.payload;
    if (payload?.code !== undefined) throw new EditError(payload);
    if (payload?.error !== undefined) throw new EditError(payload.error, payload.index);
    throw raised;
  }
}
