(memory (export "memory") 60000)
