// Lays the headers of a packet, Ethernet to ImmDt, on a stream: 54 to 74 bytes, the last beat partial.
module roce_header
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // The transmitter's own addresses, stable while packets are made
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,

    input  packet_t s_axis_pkt_tdata,
    input  logic    s_axis_pkt_tvalid,
    output logic    s_axis_pkt_tready,

    output logic         [DataW-1:0] m_axis_hdr_tdata,
    output logic         [KeepW-1:0] m_axis_hdr_tkeep,
    output logic                     m_axis_hdr_tlast,
    output header_user_t             m_axis_hdr_tuser,
    output logic                     m_axis_hdr_tvalid,
    input  logic                     m_axis_hdr_tready
);

  localparam int unsigned BEATS = (HEADER_BYTES_MAX + KeepW - 1) / KeepW;
  localparam int unsigned COUNT_W = BEATS > 1 ? $clog2(BEATS) : 1;
  localparam int unsigned HEADER_W = HEADER_BYTES_MAX * 8;

  packet_t pkt;
  base_t base;
  logic [15:0] udp_length, total_length;
  logic [16:0] sum;
  logic [HEADER_W-1:0] bytes;  // first byte on the left
  logic [BEATS*DataW-1:0] lanes;
  logic [BEATS-1:0][KeepW-1:0] keeps;
  logic [COUNT_W-1:0] beat_q, last_beat;
  logic last, ready;

  assign pkt = s_axis_pkt_tdata;
  assign udp_length = 16'($bits(udp_t) / 8 + $bits(bth_t) / 8 + ICRC_BYTES) + (pkt.has_reth ? 16'(RETH_BYTES) : '0) +
      (pkt.has_imm ? 16'(IMM_BYTES) : '0) + {3'd0, (pkt.length + 13'd3) & ~13'd3};
  assign total_length = udp_length + 16'($bits(ipv4_t) / 8);
  assign sum = {1'b0, pkt.checksum} + {1'b0, total_length};

  always_comb begin
    base.eth = '{dst: pkt.qp.dst_mac, src: local_mac_i, ethertype: ETHERTYPE_IPV4};
    base.ip = '{
        version_ihl: IPV4_VERSION_IHL,
        tos: pkt.qp.tos,
        total_length: total_length,
        id: '0,
        flags_fragment: IPV4_DONT_FRAGMENT,
        ttl: pkt.qp.ttl,
        protocol: IPV4_PROTOCOL_UDP,
        checksum: ~(sum[15:0] + {15'd0, sum[16]}),
        src: local_ip_i,
        dst: pkt.qp.dst_ip
    };
    base.udp = '{src_port: pkt.qp.src_port, dst_port: ROCE_PORT, length: udp_length, checksum: '0};
    base.bth = '{
        opcode: pkt.opcode,
        solicited: 1'b0,
        migrated: 1'b1,
        pad: 2'd0 - pkt.length[1:0],
        version: '0,
        pkey: pkt.qp.pkey,
        resv8a: '0,
        dest_qpn: pkt.qp.dest_qpn,
        ack_request: 1'b0,
        resv7: '0,
        psn: pkt.qp.psn
    };
    bytes = {base, pkt.reth, pkt.imm};
    if (!pkt.has_reth) bytes = {base, pkt.imm, {$bits(reth_t) {1'b0}}};
    if (!pkt.has_imm && pkt.has_reth) bytes[31:0] = '0;
    if (!pkt.has_imm && !pkt.has_reth) bytes[$bits(reth_t)+31:0] = '0;
  end

  // Byte k of the packet is lane k.
  always_comb begin
    lanes = '0;
    for (int unsigned k = 0; k < HEADER_BYTES_MAX; k++) lanes[8*k+:8] = bytes[HEADER_W-8*(k+1)+:8];
  end

  always_comb begin
    keeps = '0;
    last_beat = '0;
    for (int unsigned kind = 0; kind < HEADER_KINDS; kind++) begin
      if ({pkt.has_reth, pkt.has_imm} == 2'(kind)) begin
        keeps = (BEATS * KeepW)'({HEADER_BYTES_MAX{1'b1}} >> (HEADER_BYTES_MAX - header_bytes(2'(kind))));
        last_beat = COUNT_W'((header_bytes(2'(kind)) - 1) / KeepW);
      end
    end
  end

  assign last = beat_q == last_beat;
  assign s_axis_pkt_tready = ready && last;

  header_user_t user;
  assign user = '{status: pkt.status, ends: pkt.ends, index: pkt.index, length: pkt.length};

  axis_reg #(
      .DataW(DataW + KeepW + 1 + $bits(header_user_t))
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({user, last, keeps[beat_q], lanes[32'(beat_q)*DataW+:DataW]}),
      .s_axis_tvalid(s_axis_pkt_tvalid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_hdr_tuser, m_axis_hdr_tlast, m_axis_hdr_tkeep, m_axis_hdr_tdata}),
      .m_axis_tvalid(m_axis_hdr_tvalid),
      .m_axis_tready(m_axis_hdr_tready)
  );

  always_ff @(posedge clk) begin
    if (s_axis_pkt_tvalid && ready) beat_q <= last ? '0 : beat_q + 1'b1;
    if (rst) beat_q <= '0;
  end

endmodule
