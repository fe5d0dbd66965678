// A token verification loop in Rust that records its steps; wrong with --wrong: the replacement is drawn from the target.
//
//   header="$(python -c 'import draftproof.recording as r; print(r.header())')"
//   cc -O2 -DDRAFTPROOF_API= -x c -c "$header" -o recording.o
//   rustc -O -C link-arg=recording.o -C link-arg=-lm -o record_steps record_steps.rs
//   ./record_steps FOLDER && draftproof steps FOLDER
use std::ffi::CString;
use std::os::raw::c_char;
use std::process::ExitCode;
use std::ptr::null;

#[repr(C)]
struct Options {
    vocabulary: i32,
    listed: i32,
    shard_steps: i32,
    one_of: i64,
    seed: i64,
    dtype: *const c_char,
    rule: *const c_char,
    settings: *const c_char,
    engine: *const c_char,
    engine_version: *const c_char,
    device: *const c_char,
}

#[repr(C)]
struct Step {
    target: *const f32,
    draft: *const f32,
    logits: *const f32,
    drafts: *const i32,
    parents: *const i32,
    emitted: *const i32,
    history: *const i32,
    uniforms: *const f64,
    logprobs: *const f64,
    settings: *const c_char,
    request: i64,
    place: i64,
    slot: i64,
    draft_count: i32,
    emitted_count: i32,
    history_count: i32,
    unknown_draft: i32,
}

/// The first fields of draftproof_recorder.
#[repr(C)]
struct Recorder {
    seen: i64,
    recorded: i64,
    failed: i64,
}

extern "C" {
    fn draftproof_begin(folder: *const c_char, options: *const Options) -> *mut Recorder;
    fn draftproof_chosen(recorder: *mut Recorder) -> i32;
    fn draftproof_record(recorder: *mut Recorder, step: *const Step);
    fn draftproof_end(recorder: *mut Recorder);
}

/// SplitMix64: the standard library has no random numbers.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn draw(&mut self, weights: &[f32]) -> i32 {
        let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
        let mut left = self.uniform() * total;
        for (x, &weight) in weights.iter().enumerate() {
            left -= f64::from(weight);
            if left < 0.0 {
                return x as i32;
            }
        }
        weights.iter().rposition(|&w| w > 0.0).unwrap_or(0) as i32
    }
}

fn softmax(logits: &[f64]) -> Vec<f32> {
    let top = logits.iter().cloned().fold(f64::MIN, f64::max);
    let sum: f64 = logits.iter().map(|x| (x - top).exp()).sum();
    logits.iter().map(|x| ((x - top).exp() / sum) as f32).collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(folder) = arguments.get(1) else {
        eprintln!("expected a folder to record in");
        return ExitCode::from(2);
    };
    let wrong = arguments.get(2).is_some_and(|word| word == "--wrong");
    let (vocabulary, gamma, mut random) = (500usize, 4usize, Random(20261129));

    let text = |words: &str| CString::new(words).expect("no zero byte");
    let (folder, rule, engine, device) = (text(folder), text("token"), text("examples/record_steps.rs"), text("cpu"));
    let options = Options {
        vocabulary: vocabulary as i32, listed: 0, shard_steps: 0, one_of: 0, seed: 0, dtype: null(),
        rule: rule.as_ptr(), settings: null(), engine: engine.as_ptr(), engine_version: null(), device: device.as_ptr(),
    };
    let recorder = unsafe { draftproof_begin(folder.as_ptr(), &options) };

    for number in 0..1000i64 {
        let (mut target, mut draft, mut drafts) = (Vec::new(), Vec::new(), Vec::new());
        for place in 0..=gamma {
            let logits: Vec<f64> = (0..vocabulary).map(|_| 2.5 * random.normal()).collect();
            target.extend(softmax(&logits));
            if place < gamma {
                let q = softmax(&logits.iter().map(|x| x + 0.7 * random.normal()).collect::<Vec<f64>>());
                drafts.push(random.draw(&q));
                draft.extend(q);
            }
        }
        let chosen = unsafe { draftproof_chosen(recorder) } != 0;
        let mut emitted = Vec::new();
        for place in 0..=gamma {
            let p = &target[place * vocabulary..(place + 1) * vocabulary];
            if place == gamma {
                emitted.push(random.draw(p));
                break;
            }
            let (q, x) = (&draft[place * vocabulary..(place + 1) * vocabulary], drafts[place] as usize);
            if random.uniform() * f64::from(q[x]) < f64::from(p[x]) {
                emitted.push(x as i32);
                continue;
            }
            let residual: Vec<f32> = p.iter().zip(q).map(|(p, q)| (p - q).max(0.0)).collect();
            emitted.push(random.draw(if wrong { p } else { &residual }));
            break;
        }
        if chosen {
            let step = Step {
                target: target.as_ptr(), draft: draft.as_ptr(), logits: null(), drafts: drafts.as_ptr(), parents: null(),
                emitted: emitted.as_ptr(), history: null(), uniforms: null(), logprobs: null(), settings: null(),
                request: number / 50, place: number, slot: -1, draft_count: gamma as i32,
                emitted_count: emitted.len() as i32, history_count: 0, unknown_draft: 0,
            };
            unsafe { draftproof_record(recorder, &step) };
        }
    }
    let failed = unsafe { recorder.as_ref() }.map_or(1, |r| r.failed);
    unsafe { draftproof_end(recorder) };
    println!("{failed} steps could not be recorded");
    ExitCode::from(u8::from(failed > 0))
}
