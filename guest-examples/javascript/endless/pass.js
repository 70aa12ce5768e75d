// A pass that edits and then never ends. It must be stopped, and its edits must be gone.

import { graphPass, torch } from "airlock-pass";

graphPass({ name: "endless", about: "Edits and never ends, for tests: must be stopped" }, ({ graph }) => {
  graph.insertingBefore().callFunction(torch.ops.air.scope_enter.default, [["_user_stream_label"], ["never_left"]]);
  for (;;);
});
