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

  // The part that every packet has: 54 bytes.
  typedef struct packed {
    eth_t  eth;
    ipv4_t ip;
    udp_t  udp;
    bth_t  bth;
  } base_t;

  localparam int unsigned ETH_BYTES = $bits(eth_t) / 8;
  localparam int unsigned BASE_BYTES = $bits(base_t) / 8;
  localparam int unsigned RETH_BYTES = $bits(reth_t) / 8;
  localparam int unsigned IMM_BYTES = 4;  // IBA 9.3.6
  localparam int unsigned ICRC_BYTES = 4;  // IBA 7.8.1
  localparam int unsigned HEADER_BYTES_MAX = BASE_BYTES + RETH_BYTES + IMM_BYTES;

  // Bytes before the payload, by what the packet has: bit 1 a RETH, bit 0 an ImmDt.
  localparam int unsigned HEADER_KINDS = 4;
  function automatic int unsigned header_bytes(input logic [1:0] kind);
    return BASE_BYTES + (kind[1] ? RETH_BYTES : 0) + (kind[0] ? IMM_BYTES : 0);
  endfunction

  localparam logic [15:0] ETHERTYPE_IPV4 = 16'h0800;
  localparam logic [7:0] IPV4_VERSION_IHL = 8'h45;
  localparam logic [15:0] IPV4_DONT_FRAGMENT = 16'h4000;
  localparam logic [7:0] IPV4_PROTOCOL_UDP = 8'd17;
  localparam logic [15:0] ROCE_PORT = 16'd4791;

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
    ONLY    = 1'b0,  // every packet a WRITE ONLY
    MESSAGE = 1'b1   // FIRST, MIDDLE, LAST
  } segmentation_e;

  // One queue pair. Model: roce_qp.QpContext.
  typedef struct packed {
    logic          enabled;
    segmentation_e segmentation;
    logic [3:0]    mtu_log2;      // path MTU: 8 (256 bytes) to 12 (4096), else the QP is not enabled
    logic [47:0]   dst_mac;
    logic [31:0]   dst_ip;
    logic [15:0]   src_port;
    logic [23:0]   dest_qpn;
    logic [31:0]   rkey;
    logic [15:0]   pkey;
    logic [7:0]    tos;
    logic [7:0]    ttl;
    logic [23:0]   psn;           // of the next packet
  } qp_t;

  // One RDMA WRITE. Model: roce_segment.Message.
  typedef struct packed {
    logic        imm_valid;
    logic [31:0] imm;
    logic [7:0]  qp;         // index in the table
    logic [31:0] length;     // bytes, 1 to 2^31
    logic [63:0] address;    // at the destination
  } message_t;

  // How a message ended. Model: roce_segment.Status.
  typedef enum logic [1:0] {
    OK = 2'd0,
    BAD_QP = 2'd1,     // index outside the table, or QP not enabled
    BAD_LENGTH = 2'd2  // 0 or above 2^31
  } status_e;

  // One packet of a message. Model: roce_segment.PacketCommand.
  typedef struct packed {
    status_e     status;    // of the message; where not OK, no packet: its payload is dropped
    logic        ends;      // the message's last packet
    logic [7:0]  index;     // of the QP, in the table
    logic [7:0]  opcode;
    logic        has_reth;
    logic        has_imm;
    logic [12:0] length;    // payload bytes; of a refused message 0 if it has none to drop, else 1
    reth_t       reth;
    logic [31:0] imm;
    logic [15:0] checksum;  // of the IPv4 header without total_length, not inverted
    qp_t         qp;        // psn is this packet's
  } packet_t;

  // What travels beside a header on its stream, fields as in packet_t.
  typedef struct packed {
    status_e     status;
    logic        ends;
    logic [7:0]  index;
    logic [12:0] length;
  } header_user_t;

endpackage
