// RoCEv2 WRITE packets: wire formats, the QP context, and what passes between the blocks of roce_tx.
// Formats are packed structs, first field first on the wire. "IBA" is the InfiniBand Architecture Specification, volume 1.
package roce_pkg;

  // IEEE 802.3, 3.1.1
  typedef struct packed {
    logic [47:0] dst;
    logic [47:0] src;
    logic [15:0] ethertype;
  } eth_t;

  // RFC 791, 3.1
  typedef struct packed {
    logic [7:0]  version_ihl;
    logic [7:0]  tos;
    logic [15:0] total_length;
    logic [15:0] id;
    logic [15:0] flags_fragment;
    logic [7:0]  ttl;
    logic [7:0]  protocol;
    logic [15:0] checksum;
    logic [31:0] src;
    logic [31:0] dst;
  } ipv4_t;

  // RFC 768
  typedef struct packed {
    logic [15:0] src_port;
    logic [15:0] dst_port;
    logic [15:0] length;
    logic [15:0] checksum;
  } udp_t;

  // IBA 9.2
  typedef struct packed {
    logic [7:0]  opcode;
    logic        solicited;
    logic        migrated;
    logic [1:0]  pad;
    logic [3:0]  version;
    logic [15:0] pkey;
    logic [7:0]  resv8a;
    logic [23:0] dest_qpn;
    logic        ack_request;
    logic [6:0]  resv7;
    logic [23:0] psn;
  } bth_t;

  // IBA 9.3.3
  typedef struct packed {
    logic [63:0] address;
    logic [31:0] rkey;
    logic [31:0] length;
  } reth_t;

  // IEEE 802.1Q, 9.6: between the source address and the EtherType
  typedef struct packed {
    logic [15:0] tpid;
    logic [15:0] tci;
  } vlan_t;

  // The part that every packet has: 54 bytes.
  typedef struct packed {
    eth_t  eth;
    ipv4_t ip;
    udp_t  udp;
    bth_t  bth;
  } base_t;

  localparam int unsigned ETH_BYTES = $bits(eth_t) / 8;
  localparam int unsigned VLAN_BYTES = $bits(vlan_t) / 8;
  localparam int unsigned IP_BYTES = $bits(ipv4_t) / 8;
  localparam int unsigned BASE_BYTES = $bits(base_t) / 8;
  localparam int unsigned RETH_BYTES = $bits(reth_t) / 8;
  localparam int unsigned IMM_BYTES = 4;  // IBA 9.3.6
  localparam int unsigned ICRC_BYTES = 4;  // IBA 7.8.1
  localparam int unsigned HEADER_BYTES_MAX = BASE_BYTES + VLAN_BYTES + RETH_BYTES + IMM_BYTES;
  localparam int unsigned LINE_BYTES = 24;  // preamble and SFD, FCS, gap: on the line beside a frame (IEEE 802.3)

  // Bytes before the payload, by what the packet has beside the base: `words` of 4 bytes (VLAN tag, ImmDt), a RETH.
  localparam int unsigned WORD_KINDS = 3;
  function automatic int unsigned header_bytes(input logic reth, input int unsigned words);
    return BASE_BYTES + (reth ? RETH_BYTES : 0) + 4 * words;
  endfunction

  localparam logic [15:0] ETHERTYPE_IPV4 = 16'h0800;
  localparam logic [15:0] ETHERTYPE_VLAN = 16'h8100;
  localparam logic [7:0] IPV4_VERSION_IHL = 8'h45;
  localparam logic [15:0] IPV4_DONT_FRAGMENT = 16'h4000;
  localparam logic [7:0] IPV4_PROTOCOL_UDP = 8'd17;
  localparam logic [15:0] ROCE_PORT = 16'd4791;
  localparam logic [1:0] ENTROPY_PORTS = 2'b11;  // top bits of a source port that carries entropy (IBA annex A17)

  // IBA table 38: low bits of the opcodes of RDMA WRITE, and the bits of the service.
  localparam logic [7:0] OP_WRITE_FIRST = 8'h06;
  localparam logic [7:0] OP_WRITE_MIDDLE = 8'h07;
  localparam logic [7:0] OP_WRITE_LAST = 8'h08;
  localparam logic [7:0] OP_WRITE_ONLY = 8'h0a;
  localparam logic [7:0] OP_WITH_IMM = 8'h01;  // added to LAST and ONLY
  localparam logic [7:0] OP_UC = 8'h20;

  localparam logic [3:0] MTU_LOG2_MIN = 4'd8;  // IBA 9.4.3
  localparam logic [3:0] MTU_LOG2_MAX = 4'd12;
  localparam logic [31:0] MESSAGE_BYTES_MAX = 32'h8000_0000;  // IBA 9.4.3

  typedef enum logic {
    UC = 1'b0,
    RC = 1'b1
  } service_e;

  typedef enum logic {
    ONLY    = 1'b0,  // every packet a WRITE ONLY
    MESSAGE = 1'b1   // FIRST, MIDDLE, LAST
  } segmentation_e;

  // Which packets of an RC QP have AckReq set.
  typedef enum logic [1:0] {
    NEVER    = 2'd0,
    LAST     = 2'd1,  // the last of every message
    INTERVAL = 2'd2   // those, and every one whose PSN + 1 is a multiple of 2^ack_log2
  } ack_policy_e;

  // What the headers of all packets of a QP share.
  typedef struct packed {
    logic        has_vlan;  // with a VLAN tag
    logic [15:0] tci;       // priority 3 bits, DEI 1, VLAN id 12
    logic [47:0] dst_mac;
    logic [31:0] dst_ip;
    logic [15:0] src_port;
    logic [23:0] dest_qpn;
    logic [15:0] pkey;
    logic [7:0]  tos;       // DSCP 6 bits, ECN 2
    logic [7:0]  ttl;
  } path_t;

  // One queue pair, as it is written. Model: roce_qp.QpContext.
  typedef struct packed {
    logic          enabled;
    service_e      service;
    segmentation_e segmentation;
    logic [3:0]    mtu_log2;      // path MTU: 8 (256 bytes) to 12 (4096), else the QP is not enabled
    ack_policy_e   ack_policy;    // counts with RC
    logic [3:0]    ack_log2;
    logic          entropy;       // the source port comes from QPN and first PSN of each message
    logic [31:0]   rkey;
    logic [23:0]   rate;          // 2^-16 bytes of the line a cycle; 0: not limited
    logic [23:0]   burst;         // bytes
    path_t         path;
    logic [23:0]   psn;           // of the next packet
  } qp_t;

  // A write to the QP table.
  typedef struct packed {
    logic       set_psn;  // else the QP goes on with its own PSN
    logic [7:0] index;
    qp_t        qp;
  } qp_write_t;

  // One queue pair, as it is read.
  typedef struct packed {
    logic          enabled;
    service_e      service;
    segmentation_e segmentation;
    logic [3:0]    mtu_log2;
    ack_policy_e   ack_policy;
    logic [3:0]    ack_log2;
    logic          entropy;
    logic          limited;
    logic [31:0]   rkey;
    logic [15:0]   checksum;      // one's complement sum of the IPv4 header, of total_length its own 20 bytes only
    path_t         path;
  } context_t;

  // One RDMA WRITE. Model: roce_segment.Message.
  typedef struct packed {
    logic        replay;     // sent before: `psn` is its first PSN, and the QP's own stays as it is
    logic        resume;     // with replay: the rest of a message of which the first packets have arrived
    logic [23:0] psn;
    logic        imm_valid;
    logic [31:0] imm;
    logic [7:0]  qp;         // index in the table
    logic [31:0] length;     // bytes, 1 to 2^31
    logic [63:0] address;    // at the destination
  } message_t;

  // How a message ended. Model: roce_segment.Status.
  typedef enum logic [2:0] {
    OK = 3'd0,
    BAD_QP = 3'd1,      // index outside the table, or QP not enabled
    BAD_LENGTH = 3'd2,  // 0 or above 2^31
    SHORT = 3'd3,       // its payload ended before it
    LONG = 3'd4,        // its payload went on behind it
    BAD_PAYLOAD = 3'd5  // its payload came with errors: packets of it are poisoned
  } status_e;

  // Messages that ended with each error, modulo 2^32.
  typedef struct packed {
    logic [31:0] bad_payload;
    logic [31:0] too_long;
    logic [31:0] too_short;
    logic [31:0] bad_length;
    logic [31:0] bad_qp;
  } errors_t;

  // One packet of a message. Model: roce_segment.PacketCommand.
  typedef struct packed {
    status_e     status;      // of the message; where not OK, no packet: its payload is dropped
    logic        ends;        // the message's last packet
    logic [7:0]  index;       // of the QP, in the table
    logic [7:0]  opcode;
    logic        has_reth;
    logic        has_imm;
    logic        ack_request;
    logic [23:0] psn;
    logic [12:0] length;      // payload bytes; of a refused message 0 if it has none to drop, else 1
    logic [12:0] udp_length;
    logic [16:0] checksum;    // sum of the IPv4 header, the carry not yet added again, not inverted
    reth_t       reth;
    logic [31:0] imm;
    logic        limited;     // asks its token bucket
    path_t       path;        // src_port is this message's
  } packet_t;

  // What travels beside a header on its stream, fields as in packet_t.
  typedef struct packed {
    status_e     status;
    logic        ends;
    logic [7:0]  index;
    logic [12:0] length;
    logic        reth;        // what header_bytes() asks for
    logic [1:0]  words;
    logic        has_vlan;
    logic        limited;
    logic [12:0] line_bytes;  // of the packet, with all that the line carries for it
    logic [12:0] left;        // bytes of the packet without its ICRC, from the last header beat on
    logic        one_left;    // all of them are in that beat
    logic        one_read;    // all of its payload is in one beat
    logic        refused;     // status is not OK
  } header_user_t;

  // What travels beside a packet on its stream, valid at its last beat the one, all the time the other.
  typedef struct packed {
    logic poisoned;  // bytes are missing or wrong: no receiver may place it
    logic has_vlan;
  } packet_user_t;

endpackage
