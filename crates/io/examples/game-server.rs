//! A game server: `cargo run --example game-server -- '[::]:7001'`. What a player sends goes to all players, encrypted,
//! and a player may change the network meanwhile.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use fairwire::tls::{Date, Identity, ServerConfig, Validity};
use fairwire::{Config, Connection, Endpoint, ListenOptions, Security, ServiceCode, TrySendError};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let addr = std::env::args().nth(1);
    let addr: SocketAddr = addr.as_deref().unwrap_or("[::]:7001").parse()?;
    let validity = Validity::days(Date::from_unix_seconds(0), 40_000);
    let identity = Identity::generate(&["game.example"], validity)?;
    println!("players pin {}", identity.fingerprint());
    let mut config = Config::interactive();
    config.migration = true; // as the players do
    let endpoint = Endpoint::bind(addr)?;
    let game = [ServiceCode::from_bytes(*b"game")];
    let security = Security::dtls(ServerConfig::new(identity));
    let options = ListenOptions::new().config(config);
    let listener = endpoint.listen_with(addr.port(), &game, security, options)?;
    let players = Arc::new(Mutex::new(Vec::<Connection>::new()));
    while let Ok(player) = listener.accept().await {
        players.lock().expect("sound").push(player.clone());
        let players = Arc::clone(&players);
        tokio::spawn(async move {
            while let Ok(said) = player.recv().await {
                let mut players = players.lock().expect("sound");
                // A player with a full queue misses it. One who has left is forgotten.
                let left = |sent| matches!(sent, Err(TrySendError::Send(_)));
                players.retain(|to| !left(to.try_send(said.data.clone())));
            }
        });
    }
    Ok(())
}
