// Judges the frames that a MAC delivers: which class, or why none. Says it with a frame's last beat; passes all beats on.
// Four cycles of latency. Never stalls, at any rate: nothing waits here.
module rx_filter
  import neighbour_pkg::*;
  import roce_pkg::*;
  import roce_rx_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // The station's own addresses
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,

    // Frames without FCS. A MAC cannot wait
    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,   // with tlast: wrong FCS, or cut
    input logic             s_axis_tvalid,

    // The same frames, with tlast what they are
    output logic     [DataW-1:0] m_axis_tdata,
    output logic     [KeepW-1:0] m_axis_tkeep,
    output logic                 m_axis_tlast,
    output rx_user_t             m_axis_tuser,
    output logic                 m_axis_tvalid,
    output logic                 drop_o,        // of no class

    output logic [RX_DROPS-1:0] dropped_o  // pulse, by reason
);

  typedef struct packed {
    eth_t  eth;
    ipv4_t ip;
    udp_t  udp;
  } header_t;

  localparam int unsigned ADDRESSES_W = 96;

  typedef struct packed {
    logic [ADDRESSES_W-1:0] addresses;
    vlan_t vlan;
    logic [$bits(header_t)-ADDRESSES_W-1:0] rest;
  } tagged_t;

  localparam int unsigned PLAIN_BYTES = $bits(header_t) / 8;
  localparam int unsigned HEADER_BYTES = $bits(tagged_t) / 8;
  localparam int unsigned BEATS = (HEADER_BYTES + KeepW - 1) / KeepW;
  localparam int unsigned LANES_W = $clog2(KeepW);
  localparam int unsigned BEAT_W = 17 - LANES_W;  // more than the longest IPv4 packet has

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end

  // Stage 1: the header as far as it has come, and the frame's length with the last beat.
  typedef struct packed {
    logic [DataW-1:0] data;
    logic [KeepW-1:0] keep;
    logic             last;
  } beat_t;

  beat_t beat1_q, beat2_q, beat3_q, beat4_q;
  logic valid1_q, valid2_q, valid3_q, valid4_q, bad1_q;
  logic [BEAT_W-1:0] beat_q;  // stays at its highest
  logic [BEATS-1:0][DataW-1:0] header_q;  // first byte on the left
  logic [LANES_W-1:0] kept;  // bytes of a beat that is not full
  logic [17:0] length_q;

  function automatic logic [DataW-1:0] in_wire_order(input logic [DataW-1:0] lanes);
    for (int unsigned k = 0; k < KeepW; k++) in_wire_order[8*(KeepW-1-k)+:8] = lanes[8*k+:8];
  endfunction

  always_comb begin
    kept = '0;
    for (int unsigned k = 1; k < KeepW; k++) if (s_axis_tkeep[k-1] && !s_axis_tkeep[k]) kept = kept | LANES_W'(k);
  end

  always_ff @(posedge clk) begin
    if (s_axis_tvalid) begin
      for (int unsigned b = 0; b < BEATS; b++) begin
        if (beat_q == BEAT_W'(b)) header_q[BEATS-1-b] <= in_wire_order(s_axis_tdata);
      end
      if (s_axis_tlast) beat_q <= '0;
      else if (beat_q != '1) beat_q <= beat_q + 1'b1;
    end
    length_q <= {(BEAT_W + 1)'(beat_q) + (BEAT_W + 1)'(s_axis_tkeep[KeepW-1]), kept};
    bad1_q <= s_axis_tuser;
    beat1_q <= '{data: s_axis_tdata, keep: s_axis_tkeep, last: s_axis_tlast};
    valid1_q <= s_axis_tvalid;
    if (rst) begin
      beat_q   <= '0;
      valid1_q <= 1'b0;
    end
  end

  // Stage 2: the header without a tag.
  localparam int unsigned BYTES_W = BEATS * DataW;

  header_t header, header2_q;
  tagged_t with_tag;
  tag_t tag2_q;
  logic has_vlan, bad2_q, short_q;
  logic [BYTES_W-1:0] bytes;
  logic [17:0] behind_q;  // bytes behind the Ethernet header

  assign bytes = header_q;
  assign with_tag = bytes[BYTES_W-1-:$bits(tagged_t)];
  assign has_vlan = with_tag.vlan.tpid == ETHERTYPE_VLAN;
  assign header = has_vlan ? {with_tag.addresses, with_tag.rest} : bytes[BYTES_W-1-:$bits(header_t)];

  always_ff @(posedge clk) begin
    header2_q <= header;
    tag2_q <= '{has_vlan: has_vlan, tci: has_vlan ? with_tag.vlan.tci : '0};
    bad2_q <= bad1_q;
    short_q <= length_q < (has_vlan ? 18'(HEADER_BYTES) : 18'(PLAIN_BYTES));
    behind_q <= length_q - (has_vlan ? 18'(ETH_BYTES + VLAN_BYTES) : 18'(ETH_BYTES));
    beat2_q <= beat1_q;
    valid2_q <= valid1_q;
    if (rst) valid2_q <= 1'b0;
  end

  // Stage 3: one answer a question.
  typedef struct packed {
    logic bad;
    logic short_frame;
    logic own_mac;
    logic broadcast;
    logic control_group;
    logic is_control;
    logic is_arp;
    logic is_ipv4;
    logic plain;         // no options
    logic fragment;
    logic whole;         // as long as it says
    logic own_ip;
    logic is_udp;
    logic is_icmp;
    logic roce_port;
    tag_t tag;
  } answers_t;

  answers_t answers_q;

  always_ff @(posedge clk) begin
    answers_q <= '{
        bad: bad2_q,
        short_frame: short_q,
        own_mac: header2_q.eth.dst == local_mac_i,
        broadcast: header2_q.eth.dst == MAC_BROADCAST,
        control_group: header2_q.eth.dst == MAC_CONTROL_GROUP,
        is_control: header2_q.eth.ethertype == ETHERTYPE_MAC_CONTROL && !tag2_q.has_vlan,
        is_arp: header2_q.eth.ethertype == ETHERTYPE_ARP,
        is_ipv4: header2_q.eth.ethertype == ETHERTYPE_IPV4,
        plain: header2_q.ip.version_ihl == IPV4_VERSION_IHL,
        fragment: (header2_q.ip.flags_fragment & IPV4_FRAGMENT) != '0,
        whole: header2_q.ip.total_length >= 16'(PLAIN_BYTES - ETH_BYTES) && 18'(header2_q.ip.total_length) <= behind_q,
        own_ip: header2_q.ip.dst == local_ip_i,
        is_udp: header2_q.ip.protocol == IPV4_PROTOCOL_UDP,
        is_icmp: header2_q.ip.protocol == IPV4_PROTOCOL_ICMP,
        roce_port: header2_q.udp.dst_port == ROCE_PORT,
        tag: tag2_q
    };
    beat3_q  <= beat2_q;
    valid3_q <= valid2_q;
    if (rst) valid3_q <= 1'b0;
  end

  // Stage 4: the first reason that holds.
  rx_drop_e reason;
  rx_class_e rx_class;
  logic drop;

  always_comb begin
    drop = 1'b1;
    reason = DROP_BAD;
    rx_class = CLASS_ROCE;
    if (answers_q.bad) reason = DROP_BAD;
    else if (answers_q.short_frame) reason = DROP_SHORT;
    else if (!(answers_q.own_mac || (answers_q.is_control ? answers_q.control_group : answers_q.broadcast))) begin
      reason = DROP_ADDRESS;
    end else if (answers_q.is_control || answers_q.is_arp) begin
      drop = 1'b0;
      rx_class = answers_q.is_control ? CLASS_PAUSE : CLASS_ARP;
    end else if (!answers_q.is_ipv4) reason = DROP_TYPE;
    else if (!answers_q.plain) reason = DROP_OPTIONS;
    else if (answers_q.fragment) reason = DROP_FRAGMENT;
    else if (!answers_q.whole) reason = DROP_LENGTH;
    else if (!answers_q.own_ip) reason = DROP_IP;
    else if (answers_q.is_icmp) begin
      drop = 1'b0;
      rx_class = CLASS_ICMP;
    end else if (!answers_q.is_udp) reason = DROP_PROTOCOL;
    else if (!answers_q.roce_port) reason = DROP_PORT;
    else drop = 1'b0;
  end

  always_ff @(posedge clk) begin
    beat4_q <= beat3_q;
    valid4_q <= valid3_q;
    m_axis_tuser <= '{rx_class: rx_class, tag: answers_q.tag};
    drop_o <= drop;
    dropped_o <= valid3_q && beat3_q.last && drop ? RX_DROPS'(1) << reason : '0;
    if (rst) begin
      valid4_q  <= 1'b0;
      dropped_o <= '0;
    end
  end

  assign m_axis_tdata = beat4_q.data;
  assign m_axis_tkeep = beat4_q.keep;
  assign m_axis_tlast = beat4_q.last;
  assign m_axis_tvalid = valid4_q;

  logic unused;
  assign unused = ^{bytes, header2_q};

endmodule
