# ns-2: FLOWS greedy TCPs over a dumbbell. Prints the number of data packets that arrived.
#   ns dumbbell.tcl FLOWS MBIT_PER_S QUEUE LAW SECONDS

foreach {flows rate queue law seconds} $argv break
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb 20ms DropTail
$ns queue-limit $left $right $queue
$ns queue-limit $right $left $queue

for {set i 0} {$i < $flows} {incr i} {
    set from [$ns node]
    set to [$ns node]
    $ns duplex-link $from $left 1000Mb 1ms DropTail
    $ns duplex-link $right $to 1000Mb 1ms DropTail
    $ns queue-limit $from $left 100000
    if {$law == "newreno"} {
        set tcp [new Agent/TCP/Newreno]
        set sink [new Agent/TCPSink/DelAck]
    } else {
        set tcp [new Agent/TCP/Linux]
        set sink [new Agent/TCPSink/Sack1/DelAck]
        $tcp set timestamps_ true
        $sink set ts_echo_rfc1323_ true
        $ns at 0.0 "$tcp select_ca $law"
    }
    $tcp set packetSize_ 960
    $tcp set window_ 100000
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    set ftp [$tcp attach-app FTP]
    $ns at [expr 0.042 * $i / $flows] "$ftp start"
    lappend sinks $sink
}

proc finish {} {
    global sinks
    set bytes 0
    foreach sink $sinks { incr bytes [expr int([$sink set bytes_])] }
    puts [expr $bytes / 960]
    exit 0
}
$ns at $seconds finish
$ns run
