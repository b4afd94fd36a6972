-- DCCP as Fairwire speaks it, for Wireshark 4.0 and later.
--
-- Wireshark has a DCCP dissector; this script adds what it lacks and parses nothing twice:
--
--   dccp_udp  hands UDP port 6511, and a port chosen in its preferences, to that dissector;
--   dccp_dtls hands DTLS in DCCP to Wireshark's DTLS dissector;
--   dccp_ext  names options, features and Reset Codes that it shows as numbers.
--
-- README.md beside this file says how to install and use it.

-- DCCP in UDP (RFC 6773) -----------------------------------------------------------------------

local dccp_udp = Proto("dccp_udp", "DCCP in UDP")

local WELL_KNOWN_PORT = 6511 -- RFC 6773, section 3.8
local MIN_HEADER = 12 -- the shortest DCCP header: 24-bit sequence numbers
local DATA_OFFSET_AT = 4
local CHECKSUM_AT = 6
local CHECK_CHECKSUM = "dccp.check_checksum"

dccp_udp.prefs.port = Pref.uint(
    "Another UDP port",
    0,
    "A UDP port that carries DCCP beside port 6511; 0 is none"
)

local set_checksum = ProtoExpert.new(
    "dccp_udp.checksum_set",
    "DCCP checksum is not zero inside UDP; receivers ignore it",
    expert.group.CHECKSUM,
    expert.severity.NOTE
)
local no_udp_checksum = ProtoExpert.new(
    "dccp_udp.no_udp_checksum",
    "DCCP in UDP without a UDP checksum: receivers drop it",
    expert.group.CHECKSUM,
    expert.severity.ERROR
)
local cut_off = ProtoExpert.new(
    "dccp_udp.cut_off",
    "The capture cut this packet off inside its DCCP header",
    expert.group.UNDECODED,
    expert.severity.NOTE
)
dccp_udp.experts = { set_checksum, no_udp_checksum, cut_off }

local udp_checksum = Field.new("udp.checksum")

-- RFC 6773, section 3.3: inside UDP the DCCP checksum is sent as zero and ignored. Wireshark has
-- no way to say so for one packet and would call every one of them bad, so its check rests while
-- it reads this packet: the checksum's status is then "Unverified". The native DCCP in the same
-- capture keeps its check, and the preference its value.
local function without_checksum(call)
    local wanted = get_preference(CHECK_CHECKSUM)
    if wanted then
        set_preference(CHECK_CHECKSUM, false)
    end
    -- A packet that is malformed inside has been shown as such already when this returns.
    pcall(call)
    if wanted then
        set_preference(CHECK_CHECKSUM, true)
    end
end

-- Bytes of the DCCP header with its options, as its Data Offset says.
local function head_len(tvb)
    if tvb:len() <= DATA_OFFSET_AT then
        return MIN_HEADER
    end
    return math.max(tvb(DATA_OFFSET_AT, 1):uint() * 4, MIN_HEADER)
end

local function call_dccp(tvb, pinfo, tree)
    -- Not registered by name in Wireshark 4.0, but by its protocol number.
    local dccp = DissectorTable.get("ip.proto"):get_dissector(33)
    without_checksum(function()
        dccp:call(tvb, pinfo, tree)
    end)
end

-- A packet that the capture cut off. Where a dissector runs into the cut, Wireshark 4.0 jumps out
-- of Lua without unwinding it, and the preference would stay changed: so the DCCP dissector gets
-- the head only, if it is whole, and what is left of the payload stays data.
local function dissect_cut(tvb, pinfo, tree, item)
    local head = head_len(tvb)
    if tvb:len() < head then
        pinfo.cols.protocol = "DCCP"
        pinfo.cols.info:append(" [cut off inside the DCCP header]")
        item:add_proto_expert_info(cut_off)
        return
    end
    call_dccp(tvb(0, head):tvb(), pinfo, tree)
    if tvb:len() > head then
        Dissector.get("data"):call(tvb(head):tvb(), pinfo, tree)
    end
end

function dccp_udp.dissector(tvb, pinfo, tree)
    -- RFC 6773, section 3.3: a shorter datagram is none of DCCP.
    if tvb:reported_len() < MIN_HEADER then
        return 0
    end
    local item = tree:add(dccp_udp, tvb(0, 0)):set_generated()
    local checksum = udp_checksum()
    if checksum and checksum.value == 0 then
        item:add_proto_expert_info(no_udp_checksum)
    end
    if tvb:len() >= CHECKSUM_AT + 2 and tvb(CHECKSUM_AT, 2):uint() ~= 0 then
        item:add_proto_expert_info(set_checksum)
    end
    if tvb:len() < tvb:reported_len() then
        dissect_cut(tvb, pinfo, tree, item)
    else
        call_dccp(tvb, pinfo, tree)
    end
    return tvb:len()
end

local udp_ports = DissectorTable.get("udp.port")
local chosen = 0

local function listen_on_chosen()
    local port = dccp_udp.prefs.port
    if port == chosen then
        return
    end
    if chosen ~= 0 and chosen ~= WELL_KNOWN_PORT then
        udp_ports:remove(chosen, dccp_udp)
    end
    if port ~= 0 and port <= 65535 then
        udp_ports:add(port, dccp_udp)
    end
    chosen = port
end

udp_ports:add(WELL_KNOWN_PORT, dccp_udp)
listen_on_chosen()
dccp_udp.prefs_changed = listen_on_chosen

-- DTLS in DCCP (RFC 5238) ----------------------------------------------------------------------

local dccp_dtls = Proto("dccp_dtls", "DTLS in DCCP")

local RECORD_HEADER = 13 -- of a record that is not encrypted (RFC 9147, section 4)
local FIRST_TYPE, LAST_TYPE = 20, 26 -- Change Cipher Spec to ACK
local DTLS_MAJOR = 0xFE

local function is_record(tvb)
    if tvb:len() < RECORD_HEADER then
        return false
    end
    local kind = tvb(0, 1):uint()
    local len = tvb(RECORD_HEADER - 2, 2):uint()
    return kind >= FIRST_TYPE
        and kind <= LAST_TYPE
        and tvb(1, 1):uint() == DTLS_MAJOR
        and RECORD_HEADER + len <= tvb:reported_len()
end

-- Data and DataAck carry records. What another type carries, such as the padding of a Sync, is none.
local DATA_TYPES = { [2] = true, [4] = true }
local packet_type = Field.new("dccp.type")

function dccp_dtls.dissector(tvb, pinfo, tree)
    if tvb:len() == 0 then
        return 0
    end
    local kind = packet_type()
    local name = kind and DATA_TYPES[kind.value] and "dtls" or "data"
    Dissector.get(name):call(tvb, pinfo, tree)
    return tvb:len()
end

-- A connection is known by its first record, which is never encrypted. All that follows belongs to it.
dccp_dtls:register_heuristic("dccp", function(tvb, pinfo, tree)
    if not is_record(tvb) then
        return false
    end
    pinfo.conversation = dccp_dtls
    dccp_dtls.dissector(tvb, pinfo, tree)
    return true
end)

-- Names that Wireshark 4.0 does not have -------------------------------------------------------

local dccp_ext = Proto("dccp_ext", "DCCP, what Wireshark leaves out")

local MULTIPATH_OPTION = 46
local COPY_OF = 120
local CLOSE_CODE = 121
local PART_OF = 122
local RTT_ESTIMATE = 128
local DROPPED_PACKETS = 195
local MULTIPATH_FEATURE = 10
local ALLOW_COPIES = 120
local ALLOW_PARTS = 121
local SEND_RTT_ESTIMATE = 128
local PORT_REUSE = 12
local MULTIPATH_RESET = 13

local option_names = {
    [MULTIPATH_OPTION] = "Multipath (RFC 9897), not supported here",
    [COPY_OF] = "Copy Of (Fairwire, experimental)",
    [CLOSE_CODE] = "Close Code (Fairwire, experimental)",
    [PART_OF] = "Part Of (Fairwire, experimental)",
    [RTT_ESTIMATE] = "RTT Estimate (CCID 3 and 4, RFC 6323)",
    [DROPPED_PACKETS] = "Dropped Packets (CCID 4, RFC 5622)",
}
local feature_names = {
    [MULTIPATH_FEATURE] = "Multipath Capable (RFC 9897), not supported here",
    [ALLOW_COPIES] = "Allow Copies (Fairwire, experimental)",
    [ALLOW_PARTS] = "Allow Parts (Fairwire, experimental)",
    [SEND_RTT_ESTIMATE] = "Send RTT Estimate (CCID 3 and 4, RFC 6323)",
}
local reset_names = {
    [PORT_REUSE] = "Encapsulated Port Reuse (RFC 6773)",
    [MULTIPATH_RESET] = "Abrupt MP termination (RFC 9897), not supported here",
}
local negotiation_names = {
    [32] = "Change L",
    [33] = "Confirm L",
    [34] = "Change R",
    [35] = "Confirm R",
}
local packet_types = {
    [0] = "Request",
    "Response",
    "Data",
    "Ack",
    "DataAck",
    "CloseReq",
    "Close",
    "Reset",
    "Sync",
    "SyncAck",
    "Listen",
}

local shown = {
    option = ProtoField.uint8("dccp_ext.option", "Option", base.DEC, option_names),
    close_code = ProtoField.bytes("dccp_ext.close_code", "Code and text, or a DTLS record of them"),
    message = ProtoField.uint32("dccp_ext.message", "Message"),
    part = ProtoField.uint8("dccp_ext.part", "Part"),
    last_part = ProtoField.uint8("dccp_ext.last_part", "Last part"),
    copy_of = ProtoField.uint64("dccp_ext.copy_of", "First sent in packet", base.DEC),
    rtt_estimate = ProtoField.uint24("dccp_ext.rtt_estimate", "RTT Estimate, microseconds"),
    dropped = ProtoField.uint24("dccp_ext.dropped_packets", "Lost or marked in the interval"),
    negotiation = ProtoField.uint8("dccp_ext.negotiation", "Negotiation", base.DEC, negotiation_names),
    feature = ProtoField.uint8("dccp_ext.feature", "Feature", base.DEC, feature_names),
    value = ProtoField.uint8("dccp_ext.feature_value", "Value"),
    reset_code = ProtoField.uint8("dccp_ext.reset_code", "Reset Code", base.DEC, reset_names),
    reset_type = ProtoField.uint8("dccp_ext.reset_packet_type", "In answer to a", base.DEC, packet_types),
    reset_port = ProtoField.uint16("dccp_ext.reset_udp_port", "From UDP port", base.DEC),
}
local fields = {}
for _, field in pairs(shown) do
    fields[#fields + 1] = field
end
dccp_ext.fields = fields

local not_supported = ProtoExpert.new(
    "dccp_ext.not_supported",
    "Multipath DCCP (RFC 9897): not supported here",
    expert.group.PROTOCOL,
    expert.severity.NOTE
)
local bad_length = ProtoExpert.new(
    "dccp_ext.bad_length",
    "This option cannot have that length",
    expert.group.MALFORMED,
    expert.severity.WARN
)
dccp_ext.experts = { not_supported, bad_length }

local option_type = Field.new("dccp.option_type")
local reset_code = Field.new("dccp.reset_code")
local reset_data = {
    Field.new("dccp.data1"),
    Field.new("dccp.data2"),
    Field.new("dccp.data3"),
}

-- docs/resend.md: the number of the packet in which the data was first sent, six bytes.
local function add_copy_of(item, data)
    if not data or data:len() ~= 6 then
        item:add_proto_expert_info(bad_length)
        return
    end
    item:add(shown.copy_of, data, data:uint64())
end

-- docs/messages.md: the number of the message, four bytes, that of the part and that of the last part.
local function add_part_of(item, data)
    if not data or data:len() ~= 6 then
        item:add_proto_expert_info(bad_length)
        return
    end
    item:add(shown.message, data(0, 4))
    item:add(shown.part, data(4, 1))
    item:add(shown.last_part, data(5, 1))
end

-- docs/close.md: a code of four bytes and a text, or a DTLS record that holds them.
local function add_close_code(item, data)
    if not data or data:len() < 4 then
        item:add_proto_expert_info(bad_length)
        return
    end
    item:add(shown.close_code, data)
end

-- RFC 6323, section 3.2.1: one to three bytes; the ends of the range say something else.
local function add_rtt_estimate(item, data)
    if not data or data:len() > 3 then
        item:add_proto_expert_info(bad_length)
        return
    end
    local estimate = item:add(shown.rtt_estimate, data)
    if data:uint() == 0 then
        estimate:append_text(" (no sample yet)")
    elseif data:uint() == 0xFFFFFF then
        estimate:append_text(" (more than 16.7 s)")
    end
end

-- RFC 5622, section 8.7: three bytes for each loss interval, newest first.
local function add_dropped_packets(item, data)
    if not data or data:len() % 3 ~= 0 then
        item:add_proto_expert_info(bad_length)
        return
    end
    for at = 0, data:len() - 3, 3 do
        item:add(shown.dropped, data(at, 3))
    end
end

local function add_multipath(item)
    item:add_proto_expert_info(not_supported)
end

local option_readers = {
    [MULTIPATH_OPTION] = add_multipath,
    [COPY_OF] = add_copy_of,
    [CLOSE_CODE] = add_close_code,
    [PART_OF] = add_part_of,
    [RTT_ESTIMATE] = add_rtt_estimate,
    [DROPPED_PACKETS] = add_dropped_packets,
}

local function add_negotiation(root, option)
    local number = option(2, 1)
    if not feature_names[number:uint()] then
        return
    end
    local tree = root()
    local item = tree:add(shown.negotiation, option, option(0, 1):uint())
    local feature = item:add(shown.feature, number)
    if number:uint() == MULTIPATH_FEATURE then
        feature:add_proto_expert_info(not_supported)
    end
    for at = 3, option:len() - 1 do
        item:add(shown.value, option(at, 1))
    end
end

local function add_option(root, option)
    local number = option(0, 1):uint()
    if negotiation_names[number] and option:len() > 2 then
        add_negotiation(root, option)
    elseif option_names[number] then
        local item = root():add(shown.option, option, number)
        option_readers[number](item, option:len() > 2 and option(2) or nil)
    end
end

-- RFC 6773, section 7.2: the data bytes are the packet type and the UDP source port.
local function add_reset(root, pinfo, code, data)
    local name = reset_names[code.value]
    if not name then
        return
    end
    pinfo.cols.info:append(" [" .. name .. "]")
    local item = root():add(shown.reset_code, code.range)
    if code.value == MULTIPATH_RESET then
        item:add_proto_expert_info(not_supported)
    elseif data[1] and data[2] and data[3] then
        item:add(shown.reset_type, data[1].range)
        item:add(shown.reset_port, data[2].range, data[2].value * 256 + data[3].value)
    end
end

local function range_of(field)
    return field.range
end

-- Reads again only what Wireshark's dissector found, where it found it.
function dccp_ext.dissector(_, pinfo, tree)
    local subtree
    local function root()
        subtree = subtree or tree:add(dccp_ext):set_generated()
        return subtree
    end
    for _, option in ipairs({ option_type() }) do
        -- One that the capture cut off has no range.
        local whole, range = pcall(range_of, option)
        if whole then
            add_option(root, range)
        end
    end
    local bytes = { { reset_data[1]() }, { reset_data[2]() }, { reset_data[3]() } }
    for index, code in ipairs({ reset_code() }) do
        add_reset(root, pinfo, code, { bytes[1][index], bytes[2][index], bytes[3][index] })
    end
end

register_postdissector(dccp_ext)
