// What the custom pass of Torch-AIE's document does, in a compiler that links Airlock: the pass is a component, is judged, and what it left is
// lowered.
//
//     quantize AIRLOCK MODEL PASS.wasm OUT.pbtxt

#include <airlock.hpp>

#include <iostream>

int main(int argc, char **argv) {
    if (argc != 5) {
        std::cerr << "usage: quantize AIRLOCK MODEL PASS.wasm OUT.pbtxt\n";
        return 2;
    }
    try {
        airlock::Settings settings;
        settings.worker = argv[1];
        airlock::Host host(settings);
        airlock::Model model = host.load_model(argv[2]);
        airlock::Pass pass = host.load_pass(argv[3]);

        // As in the document: its result is int8.
        airlock::Report as_documented = model.run(pass);
        std::cout << "as in the document: " << as_documented.reason() << "\n";

        // Cast back to a float: the same but for NaN.
        pass.set_option("cast", "back");
        airlock::Report cast_back = model.run(pass);
        std::cout << "cast back: " << cast_back.reason() << "\n";

        // Neither stands. What the program edits itself is judged as well.
        {
            airlock::Editor editor = model.edit();
            for (uint64_t clamp : editor.find("aten.clamp.default")) {
                uint64_t again = editor.insert(airlock::after(clamp), "aten.clamp.default",
                                               {airlock::node(clamp), airlock::integer(-128), airlock::integer(127)});
                for (uint64_t user : editor.users(clamp)) {
                    uint32_t changed;
                    if (user != again) airlock::check(airlock_graph_replace_uses(editor.id(), clamp, again, &user, 1, &changed));
                }
            }
            airlock::Report twice = editor.judge();
            std::cout << "clamped twice: " << (twice.outcome() == AIRLOCK_OUTCOME_ACCEPTED ? "accepted" : "not accepted") << "\n";
        }

        airlock::Report lowered = model.lower(argv[4]);
        std::cout << "lowered: " << lowered.text();
        return as_documented.outcome() == AIRLOCK_OUTCOME_REFUSED && cast_back.outcome() == AIRLOCK_OUTCOME_REFUSED ? 0 : 1;
    } catch (const airlock::Failure &failure) {
        std::cerr << "error " << failure.status << ": " << failure.what() << "\n";
        return 2;
    }
}
