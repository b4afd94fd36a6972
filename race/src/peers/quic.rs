//! Datagrams of quinn, and of noq, which has its interface.

/// The UDP payload that a path of 1,500 bytes carries over IPv6. Quinn finds it by probes, and goes back to 1,200 bytes
/// when it takes many losses for a path that became narrower; a datagram of 1,200 bytes is then refused.
const UDP_PAYLOAD: u16 = 1_452;

macro_rules! quic {
    ($module:ident, $name:ident, $receive:item) => {
        pub mod $module {
            use std::collections::VecDeque;
            use std::net::SocketAddr;
            use std::sync::Arc;

            use bytes::Bytes;
            use tokio::sync::mpsc;
            use $module::crypto::rustls::{QuicClientConfig, QuicServerConfig};
            use $module::{
                ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig, TokioRuntime,
                TransportConfig,
            };

            use super::UDP_PAYLOAD;
            use crate::socket;
            use crate::tls::{Identity, NAME, Trusted};
            use crate::transport::{Result, Transport};

            pub struct $name;

            fn transport() -> Arc<TransportConfig> {
                let mut config = TransportConfig::default();
                config
                    .initial_mtu(UDP_PAYLOAD)
                    .min_mtu(UDP_PAYLOAD)
                    .max_idle_timeout(None);
                Arc::new(config)
            }

            fn endpoint(server: Option<ServerConfig>) -> Result<Endpoint> {
                let (config, runtime) = (EndpointConfig::default(), Arc::new(TokioRuntime));
                Ok(Endpoint::new(config, server, socket::bind()?, runtime)?)
            }

            impl Transport for $name {
                /// Connections whose handshake is over.
                type Listener = mpsc::UnboundedReceiver<Connection>;
                type Dialer = Endpoint;
                type Connection = Connection;

                fn listen(&self, identity: &Identity) -> Result<(Self::Listener, SocketAddr)> {
                    let tls = QuicServerConfig::try_from(identity.rustls()?)?;
                    let mut config = ServerConfig::with_crypto(Arc::new(tls));
                    config.transport_config(transport());
                    let endpoint = endpoint(Some(config))?;
                    let addr = endpoint.local_addr()?;
                    let (sender, listener) = mpsc::unbounded_channel();
                    tokio::spawn(async move {
                        while let Some(incoming) = endpoint.accept().await {
                            let sender = sender.clone();
                            tokio::spawn(async move {
                                if let Ok(connection) = incoming.await {
                                    let _ = sender.send(connection);
                                }
                            });
                        }
                    });
                    Ok((listener, addr))
                }

                async fn accept(listener: &mut Self::Listener) -> Result<Connection> {
                    Ok(listener.recv().await.ok_or("the endpoint is closed")?)
                }

                fn dialer(&self, trusted: &Trusted) -> Result<Endpoint> {
                    let tls = QuicClientConfig::try_from(trusted.rustls()?)?;
                    let mut config = ClientConfig::new(Arc::new(tls));
                    config.transport_config(transport());
                    #[allow(unused_mut, reason = "quinn's setter needs it, noq's does not")]
                    let mut endpoint = endpoint(None)?;
                    endpoint.set_default_client_config(config);
                    Ok(endpoint)
                }

                async fn dial(endpoint: &Endpoint, to: SocketAddr) -> Result<Connection> {
                    Ok(endpoint.connect(to, NAME)?.await?)
                }
            }

            impl crate::transport::Connection for Connection {
                type Inbox = Vec<Bytes>;

                /// There is no call that takes several datagrams and waits for room.
                async fn send(&self, queue: &mut VecDeque<Bytes>) -> Result<()> {
                    while let Some(datagram) = queue.pop_front() {
                        self.send_datagram_wait(datagram).await?;
                    }
                    Ok(())
                }

                $receive
            }
        }
    };
}

quic!(
    quinn,
    Quinn,
    async fn receive(
        &self,
        _inbox: &mut Vec<Bytes>,
        each: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<()> {
        each(&self.read_datagram().await?);
        Ok(())
    }
);

quic!(
    noq,
    Noq,
    async fn receive(
        &self,
        inbox: &mut Vec<Bytes>,
        each: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<()> {
        inbox.resize(crate::transport::BATCH, Bytes::new());
        let count = self.read_many_datagrams(inbox).await?;
        for datagram in &mut inbox[..count] {
            each(&std::mem::take(datagram));
        }
        Ok(())
    }
);
