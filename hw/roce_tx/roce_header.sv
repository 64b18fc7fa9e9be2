// Lays the headers of a packet, Ethernet to ImmDt, on a stream: 54 to 78 bytes, the last beat partial.
// Every group of lanes has its own register slice and its own count of beats, so that none drives more; all counts are always equal.
module roce_header
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned GroupW = DataW < 128 ? DataW : 128,  // a power of two, 64 or more, no wider than the bus

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // The transmitter's own addresses, stable while packets are made
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,
    input logic        pace_all_i,    // all packets ask their token bucket

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
  localparam int unsigned CHECKSUM_AT = ETH_BYTES + 10;  // of an untagged packet (RFC 791, 3.1)
  localparam int unsigned LANE_W = $clog2(KeepW);
  localparam int unsigned GROUPS = DataW / GroupW;
  localparam int unsigned BESIDE_W = KeepW + 1 + $bits(header_user_t);
  localparam int unsigned BESIDE_UDP = ETH_BYTES + IP_BYTES - ICRC_BYTES;  // bytes of a packet that the join counts

  packet_t pkt;
  ipv4_t ip;
  udp_t udp;
  bth_t bth;
  logic [15:0] udp_length;
  logic [1:0] words;
  logic has_reth, has_reth_q;  // for lanes: from a register where the first beat does not ask
  logic [1:0] has_vlan, has_vlan_q;  // the same, for the lower half of the lanes and the upper one
  logic [$bits(reth_t)+8*IMM_BYTES-1:0] extended;  // RETH, ImmDt: those that there are, then what does not count
  logic [1:0][HEADER_W-1:0] bytes;  // first byte on the left
  logic [1:0][BEATS*DataW-1:0] lanes, checksums;
  logic [BEATS-1:0][KeepW-1:0] keeps;
  logic [COUNT_W-1:0] beat_q, last_beat;
  logic [GROUPS-1:0][BEATS-1:0] at_q;  // the same, one hot, for each group of lanes
  logic [GROUPS-1:0] readies;
  logic last, last_q, ready;
  logic [12:0] beside, line_bytes, left;  // `beside` what udp_length counts

  assign pkt = s_axis_pkt_tdata;
  assign udp_length = 16'(pkt.udp_length);
  assign words = 2'(pkt.path.has_vlan) + 2'(pkt.has_imm);
  assign ip = '{
          version_ihl: IPV4_VERSION_IHL,
          tos: pkt.path.tos,
          total_length: udp_length + 16'(IP_BYTES),
          id: '0,
          flags_fragment: IPV4_DONT_FRAGMENT,
          ttl: pkt.path.ttl,
          protocol: IPV4_PROTOCOL_UDP,
          checksum: '0,  // laid last
          src: local_ip_i,
          dst: pkt.path.dst_ip
      };
  assign udp = '{src_port: pkt.path.src_port, dst_port: ROCE_PORT, length: udp_length, checksum: '0};
  assign bth = '{
          opcode: pkt.opcode,
          solicited: 1'b0,
          migrated: 1'b1,
          pad: 2'd0 - pkt.length[1:0],
          version: '0,
          pkey: pkt.path.pkey,
          resv8a: '0,
          dest_qpn: pkt.path.dest_qpn,
          ack_request: pkt.ack_request,
          resv7: '0,
          psn: pkt.psn
      };
  assign has_vlan = KeepW <= 2 * 6 ? has_vlan_q : {pkt.vlan, pkt.path.has_vlan};
  assign has_reth = KeepW <= BASE_BYTES ? has_reth_q : pkt.has_reth;

  always_ff @(posedge clk) begin
    has_vlan_q <= {pkt.vlan, pkt.path.has_vlan};
    has_reth_q <= pkt.has_reth;
  end

  localparam int unsigned RETH_REST = $bits(reth_t) - 8 * IMM_BYTES;
  assign extended = {
        has_reth ? pkt.reth[$bits(reth_t)-1:RETH_REST] : pkt.imm, pkt.reth[RETH_REST-1:0], pkt.imm
      };

  // A tag is in the middle of eth_t, before its EtherType.
  always_comb begin
    for (int unsigned h = 0; h < 2; h++) begin
      bytes[h] = HEADER_W'({pkt.path.dst_mac, local_mac_i, ETHERTYPE_IPV4, ip, udp, bth, extended}) << 8 * VLAN_BYTES;
      if (has_vlan[h]) begin
        bytes[h] = {
          pkt.path.dst_mac, local_mac_i, ETHERTYPE_VLAN, pkt.path.tci, ETHERTYPE_IPV4, ip, udp, bth, extended
        };
      end
    end
  end

  // Byte k of the packet is lane k.
  always_comb begin
    lanes = '0;
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned k = 0; k < HEADER_BYTES_MAX; k++) lanes[h][8*k+:8] = bytes[h][HEADER_W-8*(k+1)+:8];
    end
  end

  // The checksum comes out of a carry, so it goes into its place behind all multiplexers. Where a beat is before it, from a
  // register.
  logic [15:0] checksum, checksum_d, checksum_q;
  assign checksum_d = ~(pkt.checksum[15:0] + {15'd0, pkt.checksum[16]});
  assign checksum = CHECKSUM_AT >= KeepW ? checksum_q : checksum_d;

  always_ff @(posedge clk) checksum_q <= checksum_d;

  always_comb begin
    checksums = '0;
    for (int unsigned tag = 0; tag < 2; tag++) begin
      for (int unsigned h = 0; h < 2; h++) begin
        if (has_vlan[h] == 1'(tag)) begin
          checksums[h][8*(CHECKSUM_AT+tag*VLAN_BYTES)+:16] = {checksum[7:0], checksum[15:8]};
        end
      end
    end
  end

  logic [DataW-1:0] data;
  always_comb begin
    data = '0;
    for (int unsigned b = 0; b < BEATS; b++) begin
      for (int unsigned g = 0; g < GROUPS; g++) begin
        if (at_q[g][b]) begin
          data[g*GroupW+:GroupW] |= lanes[2*g/GROUPS][b*DataW+g*GroupW+:GroupW] |
              checksums[2*g/GROUPS][b*DataW+g*GroupW+:GroupW];
        end
      end
    end
  end

  always_comb begin
    keeps = '0;
    last_beat = '0;
    beside = '0;
    for (int unsigned w = 0; w < WORD_KINDS; w++) begin
      for (int unsigned r = 0; r < 2; r++) begin
        if (words == 2'(w) && pkt.has_reth == 1'(r)) begin
          keeps = (BEATS * KeepW)'({HEADER_BYTES_MAX{1'b1}} >> (HEADER_BYTES_MAX - header_bytes(1'(r), w)));
          last_beat = COUNT_W'(header_bytes(1'(r), w) / KeepW);  // never full: headers end 2 bytes behind a word
          beside = 13'(BESIDE_UDP) - 13'(header_bytes(1'(r), w) / KeepW * KeepW);
          if (pkt.path.has_vlan) begin
            beside = 13'(BESIDE_UDP + VLAN_BYTES) - 13'(header_bytes(1'(r), w) / KeepW * KeepW);
          end
        end
      end
    end
  end

  // Where there are several beats, the one before it finds out.
  assign last = last_q || last_beat == '0;
  assign s_axis_pkt_tready = ready && last;

  assign left = pkt.udp_length + beside;
  assign line_bytes = pkt.udp_length + (pkt.path.has_vlan ? 13'(IP_BYTES + ETH_BYTES + LINE_BYTES + VLAN_BYTES) :
      13'(IP_BYTES + ETH_BYTES + LINE_BYTES));

  header_user_t user;
  assign user = '{
          status: pkt.status,
          ends: pkt.ends,
          index: pkt.index,
          length: pkt.length,
          reth: pkt.has_reth,
          words: words,
          has_vlan: pkt.path.has_vlan,
          limited: pkt.limited || pace_all_i,
          line_bytes: line_bytes,
          left: left,
          one_left: left[12:LANE_W] == '0,
          one_read: pkt.length[12:LANE_W] == '0 || pkt.length == 13'(KeepW),
          refused: pkt.status != OK
      };

  axis_reg #(
      .DataW(BESIDE_W)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({user, last, keeps[beat_q]}),
      .s_axis_tvalid(s_axis_pkt_tvalid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_hdr_tuser, m_axis_hdr_tlast, m_axis_hdr_tkeep}),
      .m_axis_tvalid(m_axis_hdr_tvalid),
      .m_axis_tready(m_axis_hdr_tready)
  );

  always_ff @(posedge clk) begin
    if (s_axis_pkt_tvalid && ready) begin
      beat_q <= last ? '0 : beat_q + 1'b1;
      last_q <= !last && beat_q + 1'b1 == last_beat;
    end
    if (rst) begin
      beat_q <= '0;
      last_q <= 1'b0;
    end
  end

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    logic unused_valid;

    axis_reg #(
        .DataW  (GroupW),
        .GroupW (GroupW)
    ) u_lanes (
        .clk,
        .rst,
        .s_axis_tdata (data[g*GroupW+:GroupW]),
        .s_axis_tvalid(s_axis_pkt_tvalid),
        .s_axis_tready(readies[g]),
        .m_axis_tdata (m_axis_hdr_tdata[g*GroupW+:GroupW]),
        .m_axis_tvalid(unused_valid),
        .m_axis_tready(m_axis_hdr_tready)
    );

    always_ff @(posedge clk) begin
      if (s_axis_pkt_tvalid && readies[g]) at_q[g] <= last ? BEATS'(1) : BEATS'({at_q[g], 1'b0});
      if (rst) at_q[g] <= BEATS'(1);
    end
  end

endmodule
