/* A pass that edits and then never ends. It must be stopped, and its edits must be gone. */

#include <airlock.h>

AL_PASS("endless", "0.1.0", "Edits and never ends, for tests: must be stopped")

al_error al_run(al_graph graph, al_outcome *outcome) {
    (void)outcome;
    al_args scope = AL_ARGS(AL_LIST(al_string("_user_stream_label")), AL_LIST(al_string("never_left")));
    AL_TRY(al_insert(al_start(graph), "air.scope_enter.default", scope, NULL));
    for (volatile al_graph busy = graph;;) busy = busy + 1;
}
