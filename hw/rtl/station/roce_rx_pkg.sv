// What the receive path passes on: frames by class, what RoCEv2 receivers say of a QP's packets, and why the rest is dropped.
// "IBA" is the InfiniBand Architecture Specification, volume 1. The other headers: roce_pkg, neighbour_pkg.
package roce_rx_pkg;

  // Which block a frame is for. Model: rx_filter.RxClass.
  typedef enum logic [1:0] {
    CLASS_ROCE = 2'd0,  // IPv4, UDP, port 4791
    CLASS_ARP = 2'd1,
    CLASS_ICMP = 2'd2,
    CLASS_PAUSE = 2'd3  // MAC control: 802.3x pause and PFC
  } rx_class_e;

  // What travels beside a frame on its stream, the same in all of its beats.
  typedef struct packed {
    rx_class_e           rx_class;
    neighbour_pkg::tag_t tag;       // its VLAN tag
  } rx_user_t;

  // Why a frame is for no block; the first reason that holds. Model: rx_filter.RxDrop.
  typedef enum logic [3:0] {
    DROP_BAD = 4'd0,       // wrong FCS, or cut
    DROP_SHORT = 4'd1,     // fewer bytes than any class has
    DROP_ADDRESS = 4'd2,   // to another MAC
    DROP_TYPE = 4'd3,      // EtherType of no class
    DROP_OPTIONS = 4'd4,   // IPv4 with options, or not version 4
    DROP_FRAGMENT = 4'd5,
    DROP_LENGTH = 4'd6,    // total length below 28, or beyond the frame
    DROP_IP = 4'd7,        // to another IP
    DROP_PROTOCOL = 4'd8,  // neither UDP nor ICMP
    DROP_PORT = 4'd9,      // of another UDP service
    DROP_FULL = 4'd10      // no room in the buffer: after all other reasons
  } rx_drop_e;

  localparam int unsigned RX_DROPS = 11;

  localparam logic [15:0] IPV4_FRAGMENT = 16'h3fff;  // more fragments, offset

  // IBA 9.3.5
  typedef struct packed {
    logic        reserved;  // 1: reserved syndromes
    logic [1:0]  kind;
    logic [4:0]  value;
    logic [23:0] msn;       // messages that the receiver has completed
  } aeth_t;

  // IBA 9.7.5.2.1, table 43: kinds of syndrome
  localparam logic [1:0] AETH_ACK = 2'd0;
  localparam logic [1:0] AETH_RNR = 2'd1;
  localparam logic [1:0] AETH_NAK = 2'd3;
  localparam int unsigned NAKS = 4;  // IBA table 44: codes of RC; event_kind_e has them in this order

  localparam logic [7:0] OP_ACKNOWLEDGE = 8'h11;  // IBA table 38, RC
  localparam logic [7:0] OP_CNP = 8'h81;  // IBA annex A17.9.3
  localparam int unsigned AETH_BYTES = 4;
  localparam int unsigned CNP_BYTES = 16;  // reserved, behind the BTH of a CNP

  // What a receiver says of a QP. Model: roce_rx.EventKind.
  typedef enum logic [2:0] {
    ACK = 3'd0,            // all up to this PSN has arrived
    RNR = 3'd1,            // no receive is posted for this PSN: again after a time
    NAK_SEQUENCE = 3'd2,   // this PSN was expected, a later one came
    NAK_INVALID = 3'd3,    // invalid request
    NAK_ACCESS = 3'd4,     // remote access error
    NAK_OPERATION = 3'd5,  // remote operational error
    CNP = 3'd6             // congestion: nothing else counts
  } event_kind_e;

  // One packet from the receiver. Model: roce_rx.Event.
  typedef struct packed {
    logic [7:0]  qp;     // index in the table
    event_kind_e kind;
    logic [23:0] psn;
    logic [4:0]  value;  // code of the RNR timer (IBA table 45); of an ACK the credit count, of a NAK its code
    logic [23:0] msn;
  } event_t;

  // Why a RoCEv2 packet is no event; the first reason that holds. Model: roce_rx.RoceDrop.
  typedef enum logic [3:0] {
    ROCE_LENGTH = 4'd0,    // lengths of frame, IPv4 and UDP do not agree, or are not of whole words, or hold no BTH
    ROCE_CHECKSUM = 4'd1,  // of the IPv4 header
    ROCE_ICRC = 4'd2,
    ROCE_VERSION = 4'd3,   // of the transport, in BTH: not 0
    ROCE_OPCODE = 4'd4,    // neither an acknowledgement of RC nor a CNP
    ROCE_SIZE = 4'd5,      // longer or shorter than its opcode says, or with a pad count
    ROCE_QP = 4'd6,        // no such QP, or not enabled
    ROCE_SERVICE = 4'd7,   // an acknowledgement for a QP that is not of RC
    ROCE_SOURCE = 4'd8,    // not from the QP's receiver
    ROCE_PKEY = 4'd9,      // another partition
    ROCE_SYNDROME = 4'd10  // reserved
  } roce_drop_e;

  localparam int unsigned ROCE_DROPS = 11;

endpackage
