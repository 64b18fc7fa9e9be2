// Puts an entry of the registers into the QP table: reads it, offers it, waits until it is in force.
// The entry must not change meanwhile: whoever writes the registers waits for busy_o.
// Its index is there in several copies, always equal, for a table that would load one too much.
module qp_commit
  import roce_pkg::*;
#(
    parameter int unsigned Copies = 1
) (
    input logic clk,
    input logic rst,

    // In any cycle that is not busy
    input  logic       commit_i,
    input  logic [7:0] index_i,
    output logic       busy_o,

    // The registers, which answer in the next cycle
    output logic [Copies-1:0][ 7:0] index_o,
    input  logic [       9:0][31:0] words_i,

    // The QP table
    output qp_write_t m_axis_qp_tdata,
    output logic      m_axis_qp_tvalid,
    input  logic      m_axis_qp_tready
);

  // As its registers lie (docs/reference/registers.md), the first word least significant.
  typedef struct packed {
    logic [7:0]  ttl;
    logic [23:0] psn;
    logic [7:0]  tos;
    logic [23:0] dest_qpn;
    logic [15:0] pkey;
    logic [15:0] src_port;
    logic [31:0] dst_ip;
    logic [15:0] tci;
    logic [47:0] dst_mac;
    logic [7:0]  reserved3;
    logic [23:0] burst;
    logic [7:0]  reserved2;
    logic [23:0] rate;
    logic [31:0] rkey;
    logic        set_psn;
    logic [15:0] reserved0;
    logic        has_vlan;
    logic        entropy;
    logic [3:0]  ack_log2;
    logic [1:0]  ack_policy;
    logic [3:0]  mtu_log2;
    logic        segmentation;
    logic        service;
    logic        enabled;
  } entry_t;

  typedef enum logic [1:0] {
    IDLE,
    READ,   // the entry
    OFFER,  // until the table takes it
    SETTLE  // until the table is ready for another one
  } state_e;

  state_e state_q, state_d;
  (* keep, dont_merge *)logic [Copies-1:0][7:0] index_q;
  entry_t entry;
  logic   unused;

  assign entry = words_i;
  assign unused = ^{entry.reserved3, entry.reserved2, entry.reserved0};

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE:   if (commit_i) state_d = READ;
      READ:   state_d = OFFER;
      OFFER:  if (m_axis_qp_tready) state_d = SETTLE;
      SETTLE: if (m_axis_qp_tready) state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    // A copy asks whether it changes: tools make one of equal ones.
    for (int unsigned c = 0; c < Copies; c++) begin
      if (state_q == IDLE && index_q[c] != index_i) index_q[c] <= index_i;
    end
    if (rst) begin
      state_q <= IDLE;
      index_q <= '0;
    end
  end

  assign index_o = index_q;
  assign busy_o = state_q != IDLE;
  assign m_axis_qp_tvalid = state_q == OFFER;

  always_comb begin
    m_axis_qp_tdata = '{
        set_psn: entry.set_psn,
        index: index_q[0],
        qp: '{
            enabled: entry.enabled,
            service: service_e'(entry.service),
            segmentation: segmentation_e'(entry.segmentation),
            mtu_log2: entry.mtu_log2,
            ack_policy: ack_policy_e'(entry.ack_policy),
            ack_log2: entry.ack_log2,
            entropy: entry.entropy,
            rkey: entry.rkey,
            rate: entry.rate,
            burst: entry.burst,
            path: '{
                has_vlan: entry.has_vlan,
                tci: entry.tci,
                dst_mac: entry.dst_mac,
                dst_ip: entry.dst_ip,
                src_port: entry.src_port,
                dest_qpn: entry.dest_qpn,
                pkey: entry.pkey,
                tos: entry.tos,
                ttl: entry.ttl
            },
            psn: entry.psn
        }
    };
  end

endmodule
