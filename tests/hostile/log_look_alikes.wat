;; Logs what reads from right to left and looks like other letters.
;; against: words
;; ends: unchanged: \\u{202e}
(import "airlock:pass/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(data (i32.const 4096) "\e2\80\ae\d0\b0ccepted\00\c2\9b2J\ef\bb\bf")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $log (i32.const 2) (i32.const 4096) (i32.const 20)) (i32.const 2048))
