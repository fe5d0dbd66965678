// Token verification (Leviathan et al. 2023) in Rust, as a program that draftproof drives. No dependency:
//     rustc -O -o driven examples/driven.rs
//     draftproof audit --exec ./driven
// With --wrong the replacement is drawn from the target, not from the residual: refuted.
use std::io::{self, BufRead, BufReader, Write};

type Rows = Vec<Vec<f64>>;

/// The text after "key": in a line. Keys of the protocol occur once in a line.
fn after<'a>(line: &'a str, key: &str) -> Result<&'a str, String> {
    let name = format!("\"{key}\":");
    let at = line.find(&name).ok_or(format!("no {key} in the request"))?;
    Ok(line[at + name.len()..].trim_start())
}

/// The numbers of the first [...] in a text, and what comes after it.
fn row(text: &str) -> Result<(Vec<f64>, &str), String> {
    let open = text.find('[').ok_or("a list was expected")?;
    let close = text.find(']').ok_or("a list without an end")?;
    let numbers = text[open + 1..close].split(',').map(|word| word.trim().parse::<f64>());
    let values: Result<Vec<f64>, _> = numbers.collect();
    Ok((values.map_err(|error| error.to_string())?, &text[close + 1..]))
}

fn rows(text: &str) -> Result<Rows, String> {
    let (mut left, mut values) = (text.strip_prefix('[').ok_or("a list of lists was expected")?, Rows::new());
    while !left.trim_start().starts_with(']') {
        let (values_of_row, rest) = row(left)?;
        values.push(values_of_row);
        left = rest;
    }
    Ok(values)
}

fn number(text: &str) -> Result<f64, String> {
    let end = text.find(|c| ",}] ".contains(c)).unwrap_or(text.len());
    text[..end].parse().map_err(|_| format!("{} is no number", &text[..end]))
}

/// The token whose share of the running sum u falls into.
fn inverse(weights: &[f64], u: f64) -> usize {
    let (total, mut sum): (f64, f64) = (weights.iter().sum(), 0.0);
    for (token, weight) in weights.iter().enumerate() {
        sum += weight;
        if u * total < sum {
            return token;
        }
    }
    weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0)
}

fn verify(line: &str, wrong: bool) -> Result<Vec<usize>, String> {
    let (target, draft) = (rows(after(line, "target")?)?, rows(after(line, "draft")?)?);
    let tokens: Vec<usize> = row(after(line, "tokens")?)?.0.iter().map(|&token| token as usize).collect();
    let (accept, last) = (row(after(line, "accept")?)?.0, number(after(line, "last")?)?);
    for (i, &x) in tokens.iter().enumerate() {
        if accept[i] * draft[i][x] >= target[i][x] {
            let residual = target[i].iter().zip(&draft[i]).map(|(p, q)| (p - q).max(0.0)).collect();
            let weights: Vec<f64> = if wrong { target[i].clone() } else { residual };
            return Ok([&tokens[..i], &[inverse(&weights, last)]].concat());
        }
    }
    Ok([&tokens[..], &[inverse(&target[tokens.len()], last)]].concat())
}

fn main() {
    let wrong = std::env::args().any(|word| word == "--wrong");
    let mut output = io::BufWriter::new(io::stdout().lock());
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let random = r#"[{"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 53}, {"name": "last", "kind": "uniform", "shape": [], "bits": 53}]"#;
    let hello = r#"{"protocol": "draftproof-1", "name": "driven.rs", "version": "1", "dtype": "float64", "batch": 256, "random": "#;
    writeln!(output, "{hello}{random}}}").unwrap();
    output.flush().unwrap();
    let mut bytes = Vec::new();
    while input.read_until(b'\n', &mut bytes).unwrap_or(0) > 0 {
        let line = String::from_utf8_lossy(&bytes).into_owned();
        let Ok(id) = after(&line, "id").and_then(number) else {
            let start: String = line.trim_end().chars().take(60).collect();
            output.flush().unwrap();
            eprintln!("no request: '{start}'; expected {{\"id\": .., \"target\": .., ...}}");
            std::process::exit(2);
        };
        match verify(&line, wrong) {
            Ok(emitted) => writeln!(output, "{{\"id\": {id}, \"emitted\": {emitted:?}}}").unwrap(),
            Err(error) => writeln!(output, "{{\"id\": {id}, \"error\": {error:?}}}").unwrap(),
        }
        if input.buffer().is_empty() {
            output.flush().unwrap(); // a batch is done: nothing waits to be read
        }
        bytes.clear();
    }
}
