//! What the pages of the manual show to paste: a command and a few lines of Python for each. They need
//! nothing but the built-in lengths. Tests run all of them.

/// The examples of a page.
pub(super) struct Shown {
    /// Shell commands, one a line.
    pub(super) commands: &'static str,
    pub(super) python: &'static str,
}

/// The examples of the page of this name.
pub(super) fn of(name: &str) -> Option<&'static Shown> {
    ALL.iter().find(|(page, _)| *page == name).map(|(_, shown)| shown)
}

const ALL: [(&str, Shown); 26] = [
    (
        "shuffled",
        Shown {
            commands: "lengthwise plan --example speech --strategy shuffled --budget sequences:16 -o plan.json",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"shuffled\", budget=16)
print(plan.measure().padding_rate)",
        },
    ),
    (
        "sorted",
        Shown {
            commands: "lengthwise compare --example speech --strategy sorted --strategy shuffled",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"sorted\", budget=16)
print(plan.measure().padding_rate)",
        },
    ),
    (
        "semi-sorted",
        Shown {
            commands: "lengthwise compare --example speech --strategy semi-sorted:noise=0.05 --strategy semi-sorted:noise=0.2",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"semi-sorted:noise=0.05\", budget=16)
print(plan.measure().padding_rate)",
        },
    ),
    (
        "alternated",
        Shown {
            commands: "lengthwise plan --example speech --strategy alternated:bins=64 --budget sequences:16 -o plan.json",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"alternated:bins=64\", budget=16)
print(len(plan), plan.measure().padding_rate)",
        },
    ),
    (
        "bucketed",
        Shown {
            commands: "lengthwise compare --example speech --strategy bucketed:size=512 --strategy bucketed:size=2048",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"bucketed:size=512\", budget=16)
print(plan.measure().padding_rate)",
        },
    ),
    (
        "length-buckets",
        Shown {
            commands: "lengthwise plan --example speech --strategy length-buckets:edges=300/600 --budget padded:12800 -o plan.json",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"length-buckets:edges=300/600\", budget=\"padded:12800\")
print(plan.measure().padding_rate)",
        },
    ),
    (
        "optimal-buckets",
        Shown {
            commands: "lengthwise plan --example speech --strategy optimal-buckets:count=8 --shapes ladder:8 --budget padded:12800 -o plan.json",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"optimal-buckets:count=8\", budget=\"padded:12800\", shapes=\"ladder:8\")
print(plan.measure().shapes)",
        },
    ),
    (
        "neighbours",
        Shown {
            commands: "lengthwise compare --example speech --strategy neighbours --strategy sorted",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"neighbours\", budget=16)
print(plan.measure().padding_rate)",
        },
    ),
    (
        "pooled",
        Shown {
            commands: "lengthwise compare --example speech --strategy pooled:batches=50 --strategy pooled:batches=200",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"pooled:batches=50\", budget=16)
print(plan.measure().padding_rate)",
        },
    ),
    (
        "blurred",
        Shown {
            commands: "lengthwise plan --example speech --strategy blurred:blur=0.01 --budget padded:12800 -o plan.json",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, \"blurred:blur=0.01\", budget=\"padded:12800\")
print(plan.measure().padding_rate)",
        },
    ),
    (
        "rotating",
        Shown {
            commands: "lengthwise plan --example speech --strategy rotating:epochs=10 --budget sequences:16 -o plan.json",
            python: "import lengthwise as lw

planner = lw.Planner(lw.example(\"speech\"), \"rotating:epochs=10\", budget=16)
plans = [planner.plan(epoch) for epoch in range(3)]
print(lw.mixing(plans).repeat_rate)",
        },
    ),
    (
        "proportional",
        Shown {
            commands: "lengthwise plan --example documents --strategy proportional --budget padded:16384 --update tokens:65536 -o plan.json",
            python: "import lengthwise as lw

lengths = lw.example(\"documents\")
plan = lw.plan(lengths, \"proportional\", budget=\"padded:16384\", update=\"tokens:65536\")
print(plan.schedule(1).accumulate)",
        },
    ),
    (
        "packed",
        Shown {
            commands: "lengthwise plan --example documents --strategy packed:capacity=16384 -o plan.json",
            python: "import lengthwise as lw

plan = lw.plan(lw.example(\"documents\"), \"packed:capacity=16384\")
print(len(plan), \"rows\", plan.packed)",
        },
    ),
    (
        "paired",
        Shown {
            commands: "printf 'src,tgt\\n12,31\\n90,28\\n' > pairs.csv\nlengthwise plan pairs.csv --column src --second tgt --budget padded:1000",
            python: "import lengthwise as lw

frames = lw.example(\"speech\")
tokens = [1 + n // 8 for n in frames]
plan = lw.plan(frames, \"paired\", second=tokens, budget=\"padded:12800\")
print(plan.measure().padding_rate)",
        },
    ),
    (
        "budget",
        Shown {
            commands: "lengthwise compare --example speech --budget sequences:16\nlengthwise compare --example speech --budget padded:12800,at-most=64",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, budget=\"padded:12800\")
print(plan.measure().largest_batch_cells)",
        },
    ),
    (
        "cost",
        Shown {
            commands: "lengthwise compare --example speech --budget padded:12800 --cost-model encoder",
            python: "import lengthwise as lw

model = lw.CostModel(\"a=0.001,c=1e-6\")
plan = lw.plan(lw.example(\"speech\"), \"shuffled\", budget=\"padded:12800\")
print(model.epoch_seconds(plan))",
        },
    ),
    (
        "shapes",
        Shown {
            commands: "lengthwise ladder --example speech --rungs 8\nlengthwise plan --example speech --budget padded:12800 --shapes ladder:8 -o plan.json",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
print(lw.ladder(lengths, 8))
plan = lw.plan(lengths, \"shuffled\", budget=\"padded:12800\", shapes=\"ladder:8\")
print(plan.measure().shapes)",
        },
    ),
    (
        "arrange",
        Shown {
            commands: "lengthwise plan --example speech --budget padded:12800 --arrange long-first -o plan.json",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
plan = lw.plan(lengths, budget=\"padded:12800\", arrange=\"long-first\")
print(plan.batch_lengths[:5])",
        },
    ),
    (
        "steps",
        Shown {
            commands: "lengthwise plan --example speech --budget padded:12800 --world-size 8 --rank 0 -o rank-0.json",
            python: "import lengthwise as lw

plan = lw.plan(lw.example(\"speech\"), budget=\"padded:12800\", canonical_ranks=8)
schedule = plan.schedule(8)
mine = schedule.for_rank(0)
print(len(mine), schedule.idle_share)",
        },
    ),
    (
        "stream",
        Shown {
            commands: "seq 100 400 | lengthwise stream --budget padded:4000 --window 64",
            python: "import lengthwise.stream as stream

texts = [\"word \" * (1 + n % 40) for n in range(1000)]
for batch in stream.stream_batches(texts, len, budget=\"padded:4000\", window=256):
    print(len(batch), batch.length)",
        },
    ),
    (
        "shards",
        Shown {
            commands: "seq 100 400 > part-0.txt && seq 120 420 > part-1.txt\nlengthwise statistics part-0.txt part-1.txt -o all.lws\nlengthwise plan part-0.txt --budget padded:4000 --statistics all.lws --shard 0 --of 2 --needs needs-0.lws\nlengthwise plan part-1.txt --budget padded:4000 --statistics all.lws --shard 1 --of 2 --needs needs-1.lws\nlengthwise statistics all.lws needs-0.lws needs-1.lws -o plan.lws\nlengthwise plan part-0.txt --budget padded:4000 --statistics plan.lws --shard 0 --of 2 -o plan-0.json",
            python: "import lengthwise as lw

lengths = lw.example(\"speech\")
parts = [lengths[:5000], lengths[5000:]]
settings = dict(strategy=\"shuffled\", budget=\"padded:12800\", shards=2)
everything = sum(lw.Statistics(part) for part in parts)
needs = [
    lw.Planner(part, statistics=everything, shard=n, **settings).needs()
    for n, part in enumerate(parts)
]
everything = sum(needs, everything)
plan = lw.plan(parts[0], statistics=everything, shard=0, **settings)
print(len(plan))",
        },
    ),
    (
        "mixing",
        Shown {
            commands: "lengthwise compare --example speech --epochs 8",
            python: "import lengthwise as lw

planner = lw.Planner(lw.example(\"speech\"), \"blurred\", budget=\"padded:12800\")
mixing = lw.mixing([planner.plan(epoch) for epoch in range(4)])
print(mixing.per_pair, mixing.per_sequence)",
        },
    ),
    (
        "groups",
        Shown {
            commands: "printf '%s\\n' tokens,pair,lang 31,a,en 28,a,en 90,b,de 75,b,de 12,c,en 14,c,en > pairs.csv\nlengthwise plan pairs.csv --column tokens --together pair --kind lang --budget padded:200 -o plan.json\nlengthwise verify plan.json pairs.csv --column tokens --together pair --kind lang\nlengthwise plan pairs.csv --column tokens --together pair --kind lang --mix en=0.7,de=0.3 --strategy blurred --budget padded:200",
            python: "import lengthwise as lw

lengths = lw.example(\"documents\")
pairs = [n // 2 for n in range(len(lengths))]
plan = lw.plan(lengths, \"packed\", budget=\"padded:65536\", together=pairs)
print(len(plan), plan[0][:4].tolist())",
        },
    ),
    (
        "balance",
        Shown {
            commands: "lengthwise balance --example documents --world-size 8 --capacity 32768",
            python: "import lengthwise as lw

step = lw.balance(lw.example(\"documents\"), 8, capacity=32768)
print(step.micro_batches, step.idle_share, [len(batch) for batch in step[0]])",
        },
    ),
    (
        "tune",
        Shown {
            commands: "lengthwise tune --example speech --budget padded:12800 --max-padding 0.05",
            python: "import lengthwise as lw

found = lw.tune(lw.example(\"speech\"), budget=\"padded:12800\", max_padding=0.05)
print(found.strategy, found.shapes)",
        },
    ),
    (
        "glossary",
        Shown {
            commands: "lengthwise inspect --example speech",
            python: "import lengthwise as lw

print(lw.explain(\"glossary\"))",
        },
    ),
];
