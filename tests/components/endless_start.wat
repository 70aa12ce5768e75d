(func $start (loop $again (br $again)))
(start $start)
