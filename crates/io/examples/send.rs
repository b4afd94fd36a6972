//! Sends its arguments, one datagram each: `cargo run --example send -- localhost:7001 one two`.

use fairwire::{Security, ServiceCode};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let host = words.next().ok_or("usage: send HOST:PORT WORD...")?;
    let connection =
        fairwire::connect(&host, ServiceCode::from_bytes(*b"?txt"), Security::None).await?;
    for word in words {
        connection.send(word).await?;
    }
    connection.close().await?;
    println!("sent {} datagrams", connection.stats().data_sent);
    Ok(())
}
