;; Says escapes and HTML of its run.
;; against: words
;; ends: unchanged: \\u{1b}
(data (i32.const 8192) "\1b[1A\1b[2Kaccepted <img src=x onerror=alert(1)> \e2\80\ae")
(data (i32.const 4096) "\00\00\00\00\00\00\00\00\00\20\00\00\34\00\00\00")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.const 4096))
