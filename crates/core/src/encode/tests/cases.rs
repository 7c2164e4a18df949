//! `cases/encode.toml` through every encoder.

use toml::{Table, Value};

use super::{check_pretoken, rank_map, tokenizer_of};

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_integer().unwrap() as u32).collect()
}

#[test]
fn hand_checked_cases() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/encode.toml");
    let file: Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    for case in file["case"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let tokens: Vec<&str> =
            case["tokens"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        let tokenizer = tokenizer_of(&tokens);
        let derived: Vec<Vec<u32>> = tokenizer.merges().iter().map(|&(l, r, new)| vec![l, r, new]).collect();
        let merges: Vec<Vec<u32>> = case["merges"].as_array().unwrap().iter().map(ids).collect();
        assert_eq!(derived, merges, "{name}");
        assert_eq!(tokenizer.whole_pretoken_only(), case.get("whole").map_or(vec![], ids), "{name}");
        let ranks = rank_map(&tokenizer);
        for row in case["pretokens"].as_array().unwrap() {
            let pretoken = row[0].as_str().unwrap();
            assert_eq!(
                check_pretoken(&tokenizer, &ranks, pretoken.as_bytes()),
                ids(&row[1]),
                "{name}: {pretoken}"
            );
        }
    }
}
