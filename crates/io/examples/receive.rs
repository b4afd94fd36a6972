//! Accepts one connection and prints what arrives: `cargo run --example receive -- 0.0.0.0:7001`.

use std::net::SocketAddr;

use fairwire::{Endpoint, Security, ServiceCode};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let addr: SocketAddr = std::env::args()
        .nth(1)
        .ok_or("usage: receive ADDR:PORT")?
        .parse()?;
    let endpoint = Endpoint::bind(addr)?;
    println!("listening on {}", endpoint.local_addr());
    let port = endpoint.local_addr().port();
    let listener = endpoint.listen(port, &[ServiceCode::from_bytes(*b"?txt")], Security::None)?;
    let connection = listener.accept().await?;
    while let Ok(datagram) = connection.recv().await {
        let text = String::from_utf8_lossy(&datagram.data);
        println!("{text} ({} lost before)", datagram.lost_before);
    }
    Ok(())
}
